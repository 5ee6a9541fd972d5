// Why a text has its score.

import { ask } from './request.js'
import { read, write } from './studio-draft.js'
import { Panel, showNotices } from './studio-operation.js'

const form = document.getElementById('explain')
const shown = document.getElementById('shown')
const named = document.getElementById('named')
const ref = form.dataset.ref
const key = `rubriclab:explain:${ref}`
const panel = new Panel(form)
const TYPING_PAUSE = 200

const FIELDS = ['output', 'source', 'context']
const draft = read(key)
for (const name of draft ? FIELDS : []) form.elements[name].value ||= draft[name] ?? ''
const fieldValues = () => Object.fromEntries(FIELDS.map(name => [name, form.elements[name].value]))
form.addEventListener('input', () => write(key, fieldValues()))

async function explain(agreed = 0) {
  if (!form.elements.output.value.trim()) {
    panel.clear()
    panel.fail({ message: 'Paste the text to explain.' })
    form.elements.output.focus()
    return
  }
  shown.replaceChildren()
  const answer = await panel.run(`/${ref}/explain`, { ...fieldValues(), agreed }, 'Scoring the text', explain)
  if (!answer) return
  panel.say('Explained below.')
  shown.innerHTML = answer.html
  showNotices(document.getElementById('notices'), answer.notices)
  linkNearest()
  shown.scrollIntoView({ block: 'start' })
}

form.addEventListener('submit', event => {
  event.preventDefault()
  explain()
})
form.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit()
})

function openNamed() {
  const id = named.elements.id.value.trim()
  if (id) location.search = `?id=${encodeURIComponent(id)}`
}
named.addEventListener('submit', event => {
  event.preventDefault()
  openNamed()
})

let waiting
named.elements.id.addEventListener('input', () => {
  clearTimeout(waiting)
  waiting = setTimeout(async () => {
    const found = await ask(`/${ref}/explain/texts?q=${encodeURIComponent(named.elements.id.value)}`).catch(() => [])
    const options = found.map(id => Object.assign(document.createElement('option'), { value: id }))
    document.getElementById('texts').replaceChildren(...options)
  }, TYPING_PAUSE)
})

/** Link the nearest labelled texts to their own explanations. */
function linkNearest() {
  for (const name of document.querySelectorAll('#nearest th .id')) {
    const link = Object.assign(document.createElement('a'), { href: `/${ref}/explain?id=${encodeURIComponent(name.textContent)}` })
    name.replaceWith(link)
    link.append(name)
  }
}
linkNearest()
