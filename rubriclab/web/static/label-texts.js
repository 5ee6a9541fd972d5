// Texts as elements. Everything is set as text, so that no text becomes markup.

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

/** Return a paragraph of segments, each a text and the names of the passages that it shares with another text. */
export function prose(segments) {
  const paragraph = element('p', { className: 'prose', dir: 'auto' })
  for (const [text, passages] of segments) {
    if (!passages.length) {
      paragraph.append(text)
      continue
    }
    const span = element('span', { className: 'passage', textContent: text })
    span.dataset.passages = ` ${passages.join(' ')} `
    paragraph.append(span)
  }
  return paragraph
}

/** Return a text that can be folded away; `onFold` is told whether it is open once the rater has changed that. */
export function material(title, segments, open, onFold = () => {}) {
  const summary = element('summary', { textContent: title })
  const details = element('details', { className: 'material', open }, summary)
  if (segments.some(([, passages]) => passages.length)) {
    details.append(element('p', { className: 'quiet shared', textContent: 'Underlined: shared with the text' }))
  }
  details.append(prose(segments))
  summary.addEventListener('click', () => onFold(!details.open))
  return details
}

/** Mark the passages that are the same as the one under the pointer; a click shows the other one. */
export function followPassages(container) {
  const same = span => span.dataset.passages.trim().split(' ')
    .flatMap(name => [...container.querySelectorAll(`.passage[data-passages~="${name}"]`)])
  const mark = span => {
    for (const each of container.querySelectorAll('.passage.matched')) each.classList.remove('matched')
    if (span) for (const each of same(span)) each.classList.add('matched')
  }
  container.addEventListener('pointerover', event => mark(event.target.closest('.passage')))
  container.addEventListener('pointerleave', () => mark(null))
  container.addEventListener('click', event => {
    const span = event.target.closest('.passage')
    if (!span) return
    mark(span)
    const other = same(span).find(each => each.closest('.text, .material') !== span.closest('.text, .material'))
    const folded = other?.closest('details')
    if (folded) folded.open = true
    other?.scrollIntoView({ block: 'nearest' })
  })
}
