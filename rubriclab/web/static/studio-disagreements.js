// Labels that are corrected where people and the rubric differ.

import { ask, Refused } from './request.js'
import { read, rememberName, write } from './studio-draft.js'

for (const article of document.querySelectorAll('[data-text]')) {
  const form = article.querySelector('form')
  const fault = article.querySelector('[role="alert"]')
  const key = `rubriclab:judgment:${form.dataset.ref}:${article.dataset.text}`
  const buttons = [...article.querySelectorAll('[data-kind]')]
  const { by } = form.elements
  let request
  let sent = ''

  const open = kind => {
    form.dataset.open = kind
    form.hidden = !kind
    for (const button of buttons) button.setAttribute('aria-expanded', button.dataset.kind === kind)
    for (const part of form.querySelectorAll('[data-for]')) {
      part.hidden = part.disabled = !part.dataset.for.split(',').includes(kind)
    }
  }
  const values = () => Object.fromEntries(new FormData(form))
  const keep = () => write(key, form.hidden ? undefined : { ...values(), kind: form.dataset.open })

  const draft = read(key)
  if (draft) {
    open(draft.kind)
    for (const [name, value] of Object.entries(draft)) if (form.elements[name]) form.elements[name].value = value
  }
  form.addEventListener('input', keep)
  for (const button of buttons) {
    button.addEventListener('click', () => {
      open(form.dataset.open === button.dataset.kind && !form.hidden ? '' : button.dataset.kind)
      rememberName(by)
      if (!form.hidden) [...form.elements].find(field => field.matches('input, textarea, select') && !field.matches(':disabled'))?.focus()
      keep()
    })
  }
  const close = () => {
    const pressed = buttons.find(button => button.dataset.kind === form.dataset.open)
    form.reset()
    open('')
    keep()
    pressed?.focus()
  }
  article.querySelector('[data-cancel]').addEventListener('click', close)
  form.addEventListener('keydown', event => { if (event.key === 'Escape') close() })

  form.addEventListener('submit', async event => {
    event.preventDefault()
    fault.hidden = true
    const { score, ...others } = values()
    const judgment = { ...others, kind: form.dataset.open, text: article.dataset.text }
    if (judgment.kind === 'correct') judgment.score = score === '' ? null : Number(score)
    const [missing, words] = lacking(judgment)
    if (missing) {
      fault.textContent = words
      fault.hidden = false
      missing.focus()
      return
    }
    // The same judgment sent again is stored once; a changed one is another, even if the first has arrived unnoticed.
    const content = JSON.stringify(judgment)
    if (content !== sent) request = crypto.randomUUID()
    sent = content
    form.querySelector('[type="submit"]').disabled = true
    try {
      const answer = await ask(`/${form.dataset.ref}/disagreements/labels`, { ...judgment, request })
      article.querySelector('[data-corrections]').innerHTML = answer.html
      article.querySelector('[role="status"]').textContent = 'Stored beside the label.'
      article.querySelector('[data-add]').hidden = judgment.kind !== 'misses'
      article.querySelector('[data-add]').href = `/${form.dataset.ref}/edit?add=${encodeURIComponent(judgment.note ?? '')}`
      article.querySelector('[data-now]').textContent = answer.now
      sent = ''
      close()
    } catch (error) {
      fault.textContent = error instanceof Refused ? error.message : 'rubriclab does not answer; start it again. What you wrote is kept.'
      fault.hidden = false
    } finally {
      form.querySelector('[type="submit"]').disabled = false
    }
  })

  function lacking(judgment) {
    if (judgment.kind === 'correct' && judgment.score === null) return [form.elements.score, 'Give the correct label.']
    if (judgment.kind === 'misses' && !judgment.note.trim()) return [form.elements.note, 'Write what the rubric misses.']
    if (!judgment.by.trim()) return [by, 'Give your name: a correction records who made it.']
    return []
  }
}
