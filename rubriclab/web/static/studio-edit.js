// A rubric edited by hand: what the page holds, its effect, and saving it.

import { ask } from './request.js'
import { read, rememberName, write } from './studio-draft.js'
import { Panel, showNotices } from './studio-operation.js'

const form = document.getElementById('edit')
const ref = form.dataset.ref
const key = `rubriclab:edit:${ref}`
const panel = new Panel(document.getElementById('effect'))
const saver = new Panel(document.getElementById('saving'))
const lead = document.getElementById('lead')
const shown = document.getElementById('shown')
const lists = { add: document.getElementById('added'), merge: document.getElementById('merged') }
const criteria = [...form.querySelectorAll('[data-criterion]')].map(element => ({
  id: element.dataset.criterion,
  element,
  field: name => element.querySelector(`[name="${name}"]`),
}))
const NAMED = ['threshold', 'definition', 'author', 'because', 'name'].filter(name => form.elements[name])
// Milliseconds from typing, or from another change, to the new effect.
const PAUSE = { input: 700, change: 50 }

// What the page holds

function weightOf(field) {
  const kind = field('weight')?.value
  const number = name => (field(name).value === '' ? null : Number(field(name).value))
  return kind ? { kind, low: number('low'), high: number('high') } : undefined
}

function state() {
  const every = criteria.map(({ id, field }) => [id, {
    drop: field('drop').checked,
    reword: field('reword')?.checked ?? false,
    wording: field('wording')?.value ?? '',
    merge: field('merge').checked,
    weight: weightOf(field),
  }])
  const texts = list => [...list.querySelectorAll('[data-item]')].map(item => ({
    criteria: JSON.parse(item.dataset.item), text: item.querySelector('textarea').value,
  }))
  const named = NAMED.map(name => [name, form.elements[name].value])
  return { criteria: Object.fromEntries(every), add: texts(lists.add), merge: texts(lists.merge), ...Object.fromEntries(named) }
}

function restore(draft) {
  for (const { id, field } of criteria) {
    const own = draft.criteria?.[id]
    if (!own) continue
    for (const name of ['drop', 'reword', 'merge']) if (field(name)) field(name).checked = own[name]
    if (field('wording')) field('wording').value = own.wording
    if (own.weight && field('weight')) {
      field('weight').value = own.weight.kind
      field('low').value = own.weight.low ?? ''
      field('high').value = own.weight.high ?? ''
    }
  }
  for (const { text } of draft.add ?? []) addItem('add', [], text)
  for (const { criteria: ids, text } of draft.merge ?? []) addItem('merge', ids, text)
  for (const name of NAMED) form.elements[name].value = draft[name] ?? form.elements[name].value
}

/** Return the edit that a state describes, and names of what is still missing. */
function editOf(now) {
  const edit = { drop: [], reword: {}, merge: [], add: [], pin: {}, bound: {}, threshold: null, definition: null }
  const lacking = []
  const merged = new Set(now.merge.flatMap(each => each.criteria))
  for (const { id, field } of criteria) {
    const own = now.criteria[id]
    if (merged.has(id)) continue
    if (own.drop) {
      edit.drop.push(id)
      continue
    }
    const changed = own.wording.trim() && own.wording.trim() !== field('wording').defaultValue.trim()
    if (own.reword && changed) edit.reword[id] = own.wording.trim()
    if (own.reword && !own.wording.trim()) lacking.push(`the wording of ${id}`)
    limit(id, own.weight, edit, lacking, field)
  }
  for (const each of now.merge) {
    if (each.text.trim()) edit.merge.push([each.criteria, each.text.trim()])
    else lacking.push(`the wording of the merged ${each.criteria.join(' and ')}`)
  }
  edit.add = now.add.map(each => each.text.trim()).filter(Boolean)
  if (edit.add.length < now.add.length) lacking.push('the wording of the added criterion')
  if (form.elements.threshold && now.threshold !== form.elements.threshold.defaultValue) {
    if (form.elements.threshold.checkValidity()) edit.threshold = now.threshold || 'learned'
    else lacking.push('a threshold from 0 to 1')
  }
  const definition = now.definition.trim()
  if (definition && definition !== form.elements.definition.defaultValue.trim()) edit.definition = definition
  return { edit, lacking }
}

/** Return what is wrong with a weight, and the field that it is in. */
function weightFault(field, weight) {
  const { kind, low, high } = weight ?? {}
  if (kind !== 'pin' && kind !== 'bound') return undefined
  const lowest = Number(field('low').min)
  for (const [name, value] of [['low', low], ['high', kind === 'bound' ? high : null]]) {
    if (value !== null && (value < lowest || value > 100)) return { name, words: `Give a weight from ${lowest} to 100 %, not ${value} %.` }
  }
  if (kind === 'bound' && low !== null && high !== null && low > high) {
    return { name: 'high', words: `The highest weight, ${high} %, is below the lowest, ${low} %.` }
  }
}

function limit(id, weight, edit, lacking, field) {
  if (!weight) return
  if (weightFault(field, weight)) {
    lacking.push(`a possible weight of ${id}`)
    return
  }
  const { kind, low, high } = weight
  if (kind === 'free') edit.bound[id] = null
  else if (low === null || (kind === 'bound' && high === null)) lacking.push(`the weight of ${id}`)
  else if (kind === 'pin') edit.pin[id] = low / 100
  else edit.bound[id] = [low / 100, high / 100]
}

/** Show the effect beside what was changed: the weights, and on narrow pages the agreement in a line. */
function mark(weights, summary) {
  for (const { id, element } of criteria) {
    element.querySelector('[data-after]').textContent = id in weights ? `, edited ${weights[id]}` : ''
  }
  const link = document.getElementById('summary')
  link.textContent = summary
  link.hidden = !summary
}

const isEmpty = edit => Object.values(edit).every(value => value === null || Object.keys(value).length === 0)

// Controls

function addItem(kind, ids, text = '') {
  const item = document.getElementById(`${kind}-item`).content.firstElementChild.cloneNode(true)
  item.dataset.item = JSON.stringify(ids)
  if (ids.length) item.querySelector('[data-ids]').textContent = ids.join(' and ')
  item.querySelector('textarea').value = text
  item.querySelector('button').addEventListener('click', () => {
    item.remove()
    changed('change')
  })
  lists[kind].append(item)
  return item
}

function arrange(now) {
  const merged = new Set(now.merge.flatMap(each => each.criteria))
  for (const { id, element, field } of criteria) {
    const own = now.criteria[id]
    const gone = own.drop || merged.has(id)
    element.classList.toggle('gone', gone)
    field('drop').disabled = merged.has(id)
    for (const name of ['reword', 'weight', 'merge', 'wording', 'low', 'high']) if (field(name)) field(name).disabled = gone
    const kind = own.weight?.kind ?? ''
    for (const part of element.querySelectorAll('[data-for]')) {
      const wanted = part.dataset.for.split(',')
      part.hidden = gone || !(wanted.includes(kind) || (wanted.includes('reword') && own.reword))
    }
    showWeightFault(element, field, gone ? undefined : own.weight)
    element.querySelector('[data-low]')?.replaceChildren(kind === 'bound' ? 'Lowest weight, %' : 'Weight, %')
  }
  const chosen = choice(now)
  const button = document.getElementById('merge')
  button.hidden = chosen.length < 2
  button.textContent = `Merge ${chosen.join(' and ')} into one`
  for (const { id, element } of criteria) {
    element.querySelector('[data-merge-hint]').hidden = chosen.length !== 1 || chosen[0] !== id
  }
}

function showWeightFault(element, field, weight) {
  const shownFault = element.querySelector('[data-weight-fault]')
  if (!shownFault) return
  const fault = weightFault(field, weight)
  shownFault.textContent = fault?.words ?? ''
  shownFault.hidden = !fault
  for (const name of ['low', 'high']) field(name).setAttribute('aria-invalid', fault?.name === name)
}

const choice = now => {
  const merged = new Set(now.merge.flatMap(each => each.criteria))
  return criteria.map(each => each.id).filter(id => now.criteria[id].merge && !now.criteria[id].drop && !merged.has(id))
}

document.getElementById('merge').addEventListener('click', () => {
  const ids = choice(state())
  for (const { id, field } of criteria) if (ids.includes(id)) field('merge').checked = false
  addItem('merge', ids).querySelector('textarea').focus()
  changed('change')
})
document.getElementById('add').addEventListener('click', () => {
  addItem('add', []).querySelector('textarea').focus()
  changed('change')
})
document.getElementById('discard').addEventListener('click', () => {
  if (!confirm('Discard all changes on this page?')) return
  write(key, undefined)
  storesDraft = false
  location.reload()
})

// The effect

let storesDraft = true
let waiting
let busy = false
let agreed = { edit: '', calls: 0 }
let latest = ''
panel.onReturn = preview

function changed(kind) {
  const now = state()
  arrange(now)
  if (storesDraft) write(key, now)
  const { edit, lacking } = editOf(now)
  if (JSON.stringify(edit) === latest || (isEmpty(edit) && !latest)) {
    if (!busy && isEmpty(edit)) panel.say(unchanged(lacking))
    return
  }
  clearTimeout(waiting)
  waiting = setTimeout(preview, PAUSE[kind])
}

const unchanged = lacking => (lacking.length ? `Still to be given: ${lacking.join(', ')}.` : labels)

const allowed = edit => (agreed.edit === JSON.stringify(edit) ? agreed.calls : 0)

async function preview() {
  if (busy) return
  const { edit, lacking } = editOf(state())
  latest = JSON.stringify(edit)
  panel.clear()
  shown.classList.add('stale')
  if (isEmpty(edit)) {
    forget()
    panel.say(unchanged(lacking))
    return
  }
  const answer = await during(() => panel.run(`/${ref}/edit/effect`, { ...edit, agreed: allowed(edit) }, 'Computing the effect', agree))
  if (JSON.stringify(editOf(state()).edit) !== latest) {
    preview()
    return
  }
  if (answer) show(answer, lacking)
  else forget()
}

/** Remove the figures of an earlier edit. */
function forget() {
  lead.textContent = ''
  shown.replaceChildren()
  showNotices(document.getElementById('notices'), [])
  mark({}, '')
}

function agree(calls) {
  agreed = { edit: JSON.stringify(editOf(state()).edit), calls }
  preview()
}

function agreeToSave(calls) {
  agreed = { edit: JSON.stringify(editOf(state()).edit), calls }
  form.requestSubmit()
}

async function during(work) {
  busy = true
  try {
    return await work()
  } finally {
    busy = false
  }
}

function show(answer, lacking) {
  lead.textContent = answer.lead
  shown.innerHTML = answer.html
  shown.classList.remove('stale')
  mark(answer.weights, answer.summary)
  showNotices(document.getElementById('notices'), answer.notices)
  panel.say(lacking.length ? `Computed without what is still to be given: ${lacking.join(', ')}.` : `Computed in ${answer.seconds} s.`)
}

// Saving

form.addEventListener('submit', async event => {
  event.preventDefault()
  const { edit, lacking } = editOf(state())
  const fault = document.getElementById('fault')
  const refuse = (message, field) => {
    fault.textContent = message
    fault.hidden = false
    field?.focus()
  }
  fault.hidden = true
  if (isEmpty(edit) || lacking.length) return refuse(lacking.length ? `Give ${lacking.join(', ')} first.` : 'Nothing has been changed yet.')
  for (const [name, words] of [['author', 'Give your name: a version records who made it.'], ['because', 'Give a reason: a version records why it was made.']]) {
    if (!form.elements[name].value.trim()) return refuse(words, form.elements[name])
  }
  if (busy) return refuse('Wait until the effect is computed.')
  const { author, because, name } = form.elements
  const body = { ...edit, author: author.value, because: because.value, name: name.value, agreed: allowed(edit) }
  const button = event.submitter ?? form.querySelector('.actions button.main')
  button.disabled = true
  const answer = await during(() => saver.run(`/${ref}/edit/save`, body, 'Saving', agreeToSave))
  button.disabled = false
  if (!answer) return
  storesDraft = false
  write(key, undefined)
  location.assign(`/${answer.saved}?saved=yes`)
})

// Beginning

let labels = ''
rememberName(form.elements.author)
const draft = read(key)
if (draft) restore(draft)
arrange(state())
for (const kind of Object.keys(PAUSE)) form.addEventListener(kind, () => changed(kind))
const first = await during(() => panel.run(`/${ref}/edit/ready`, {}, 'Reading the labelled texts'))
if (first) {
  labels = `${first.labels}. The effect of a change is shown here.`
  panel.say(labels)
  write(key, state())
  if (!isEmpty(editOf(state()).edit)) preview()
}
