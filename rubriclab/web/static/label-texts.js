// Texts as elements. Everything is set as text, so that no text becomes markup.

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

export function prose(text) {
  return element('p', { className: 'prose', dir: 'auto', textContent: text })
}

/** Return a text that can be folded; `onFold(open)` is called when the rater folds or unfolds it. */
export function material(title, text, open, onFold = () => {}) {
  const summary = element('summary', { textContent: title })
  const details = element('details', { className: 'material', open }, summary, prose(text))
  summary.addEventListener('click', () => onFold(!details.open))
  return details
}
