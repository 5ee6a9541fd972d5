// Texts as elements. Everything is set as text, so that no text becomes markup.

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

export function prose(text) {
  return element('p', { className: 'prose', dir: 'auto', textContent: text })
}

/** Return a text that can be folded away; `onFold` is told whether it is open once the rater has changed that. */
export function material(title, text, open, onFold = () => {}) {
  const summary = element('summary', { textContent: title })
  const details = element('details', { className: 'material', open }, summary, prose(text))
  summary.addEventListener('click', () => onFold(!details.open))
  return details
}
