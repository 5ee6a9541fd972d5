// The labelling page: one item at a time, answered by keyboard, pointer or touch.

import { element, material, prose } from './label-texts.js'
import { newId, Sending } from './label-sending.js'
import { ask } from './request.js'

const byId = id => document.getElementById(id)
const settings = JSON.parse(byId('work').dataset.settings)
const { aspect, scale, words, rater } = settings
const query = `rater=${encodeURIComponent(rater)}`
const wide = matchMedia('(min-width: 60rem)')

let shown = null
let begun = 0
let busy = false
let amongSkipped = false
let total = 0
let done = 0
let skippedBefore = 0
// Whether sources are shown, until the rater folds or unfolds one.
let sourceOpen = null
// Help that the rater has folded or unfolded stays so.
const chosen = new Set()
// A name of the answer that is being sent, for messages.
let waiting = ''

const sending = new Sending(settings.question, rater, message => {
  trouble(message && `${waiting} is waiting to be sent. ${message}`)
  disable(Boolean(message))
})

function trouble(message) {
  byId('error').textContent = message
  byId('error').hidden = !message
}

// While an answer waits to be sent, pressing another button would seem to replace it.
function disable(disabled) {
  for (const each of document.querySelectorAll('#controls button, #score, #done button, #finish')) each.disabled = disabled || idle(each.dataset.do)
}

/** Return whether an action would do nothing. */
function idle(action) {
  return action === 'back' ? shown?.position === 0 : action === 'undo' && done + skippedBefore === 0
}

/** Announce a message to screen readers, without showing it. */
function say(message) {
  byId('status').className = 'unseen'
  byId('status').textContent = message
}

/** Show a message, and announce it to screen readers. */
function note(message) {
  byId('status').className = 'quiet'
  byId('status').textContent = message
}

// One request at a time: keys that are pressed while one is under way do nothing.
async function once(work) {
  if (busy) return
  busy = true
  try {
    await work()
  } catch (error) {
    trouble(error.message || 'The server cannot be reached.')
  } finally {
    busy = false
    disable(false)
  }
}

function show(answer) {
  const { progress } = answer
  shown = answer.shown
  total = progress.total
  done = progress.done
  skippedBefore = progress.skipped
  trouble('')
  byId('bar').value = progress.total ? progress.done / progress.total : 0
  byId('position').textContent = howFar(done, total)
  byId('work').hidden = byId('controls').hidden = !shown
  byId('done').hidden = Boolean(shown)
  if (!byId('panel').hidden) refreshPanel()
  if (!shown) return showEnd(progress)
  byId('texts').replaceChildren(element('article', { className: 'text' }, prose(shown.text)))
  const beside = []
  if (shown.context !== null) beside.push(material(capital(words.context), shown.context, true))
  if (shown.source !== null) beside.push(material(capital(words.source), shown.source, sourceOpen ?? wide.matches, open => { sourceOpen = open }))
  if (shown.reference !== null) beside.push(material('Reference', shown.reference, false))
  byId('beside').replaceChildren(...beside)
  byId('beside').scrollTop = byId('texts').scrollTop = 0
  // After the first text, the definition makes room on a phone.
  for (const help of document.querySelectorAll('.question')) {
    if (shown.position > 0 && !chosen.has(help) && !wide.matches) help.open = false
  }
  showAnswer()
  byId('reason').value = sending.draft(shown.item) || shown.former?.reason || ''
  showReason(Boolean(byId('reason').value), false)
  begun = performance.now()
  scrollTo({ top: 0 })
  // The pressed button is gone, so screen readers continue at the new text.
  if (document.activeElement.id !== 'score') byId('texts').focus({ preventScroll: true })
  const number = `${capital(words.output)} ${shown.position + 1}`
  if (!shown.former) say(number)
  else note(`${number}, ${shown.former.kind === 'skipped' ? 'skipped' : 'answered'} before`)
}

/** Return the progress in words. The total is rounded to tens: the exact number would reveal that some texts are repeated. */
function howFar(done, total) {
  if (done === total) return `${done} of ${total} texts`
  return total - done < 8 ? `${done} done, a few texts left` : `${done} of about ${10 * Math.round(total / 10)} texts`
}

function showAnswer() {
  const former = shown.former
  const choice = (label, key, given, act, name) => {
    const made = element('button', { type: 'button', textContent: `${label} `, className: given ? 'given' : '' }, ...(key ? [element('kbd', { textContent: key })] : []))
    if (name) made.setAttribute('aria-label', name)
    made.setAttribute('aria-pressed', String(Boolean(given)))
    made.addEventListener('click', act)
    return made
  }
  const answer = byId('answer')
  const button = name => byId('actions').querySelector(`[data-do="${name}"]`)
  button('cannot').classList.toggle('given', former?.kind === 'cannot judge')
  button('skip').hidden = answered(shown)
  button('forward').hidden = !answered(shown)
  const namedByKey = scale.levels.length && scale.levels.every(level => level.key === level.name)
  const ends = element('div', { className: 'ends' },
    element('span', { textContent: `${scale.low}: lowest ${aspect}` }),
    ...(namedByKey ? [element('span', { className: 'keys', textContent: `keys ${scale.low} to ${scale.high}` })] : []),
    element('span', { textContent: `${scale.high}: highest ${aspect}` }))
  if (scale.levels.length) {
    const buttons = scale.levels.map(level => {
      const key = level.key === level.name ? '' : level.key
      return choice(level.name, key, former?.value === level.value, () => submit('rating', { value: level.value }), `Score ${level.name}`)
    })
    answer.replaceChildren(...buttons, ...(scale.named ? [] : [ends]))
    return
  }
  const input = element('input', { type: 'text', inputMode: 'decimal', id: 'score', autocomplete: 'off', value: former?.value ?? '' })
  const save = element('button', { type: 'button', className: 'main', textContent: 'Save ' }, element('kbd', { textContent: 'Enter' }))
  save.addEventListener('click', submitNumber)
  answer.replaceChildren(element('label', { htmlFor: 'score', textContent: `Score, ${scale.text}` }), input, save)
  if (wide.matches) input.focus()
}

function submitNumber() {
  const written = byId('score').value.trim().replace(',', '.')
  const value = Number(written)
  if (!written || !Number.isFinite(value) || value < scale.low || value > scale.high || (scale.whole && !Number.isInteger(value))) {
    trouble(`Type a score: ${scale.text}.`)
    byId('score').focus()
    return
  }
  submit('rating', { value })
}

function submit(kind, answer = {}) {
  if (!shown) return
  return once(async () => {
    const id = newId()
    const item = shown.item
    const reason = byId('reason').value
    waiting = nameOf(kind, answer)
    const submission = { id, item, kind, reason, seconds: (performance.now() - begun) / 1000, among_skipped: amongSkipped, ...answer }
    const next = await sending.deliver('/judgments', id, { rater, submission })
    // What was typed while the answer was under way stays a draft.
    if (byId('reason').value === reason) sending.draft(item, '')
    show(next)
  })
}

function nameOf(kind, answer) {
  if (kind === 'rating') return String(answer.value)
  return kind === 'skipped' ? '“Skip for now”' : '“Cannot judge”'
}

/** Show the next text, answered or not; after the last one, the next without an answer. */
function forward() {
  if (shown.position + 1 < total) return goTo(shown.position + 1)
  return once(async () => show(await ask(`/item?${query}`)))
}

/** Leave a text for later; one that is answered keeps its answer. */
function skip() {
  return answered(shown) ? forward() : submit('skipped')
}

function answered(item) {
  return Boolean(item.former) && item.former.kind !== 'skipped'
}

/** Show what the same rater has answered in another tab. */
async function refresh() {
  if (busy) return
  const before = shown
  try {
    let answer = await ask(shown ? `/item?${query}&position=${shown.position}` : `/item?${query}`)
    const same = JSON.stringify(answer.shown?.former) === JSON.stringify(shown?.former)
    if (same && answer.progress.done === done) return
    if (shown && answered(answer.shown) && !answered(shown)) answer = await ask(`/item?${query}`)
    // The rater may have moved on meanwhile.
    if (!busy && shown === before) show(answer)
  } catch {
    // A server that cannot be reached is reported with the next answer.
  }
}

const goTo = position => once(async () => {
  if (position >= 0 && position < total) show(await ask(`/item?${query}&position=${position}`))
})

function undo() {
  return once(async () => {
    const id = newId()
    waiting = '“Undo last answer”'
    const answer = await sending.deliver('/undo', id, { rater, id })
    if (answer.undone && answer.shown) {
      show(answer)
      note('Undone: your last answer here is withdrawn.')
    } else {
      note('There is nothing to undo.')
    }
  })
}

function showReason(visible, focus = true) {
  byId('reason-box').hidden = !visible
  byId('actions').querySelector('[data-do="reason"]').setAttribute('aria-expanded', String(visible))
  if (visible && focus) byId('reason').focus()
}

function showEnd(progress) {
  const skipped = progress.skipped
  byId('skipped').hidden = !skipped
  amongSkipped = false
  say('')
  byId('done-heading').textContent = skipped ? `${skipped} skipped text${skipped === 1 ? ' is' : 's are'} left` : 'Everything is done'
  byId('done-heading').focus()
}

async function finish(output) {
  await once(async () => {
    output.textContent = (await ask('/finish', { rater })).words
    byId('stop').hidden = byId('done').hidden || byId('stop').dataset.shared === 'true'
  })
}

async function refreshPanel() {
  const panel = await ask(`/panel?${query}`)
  byId('panel-rater').textContent = rater
  byId('panel-done').textContent = howFar(done, total)
  for (const name of ['left', 'consistency', 'agreement']) byId(`panel-${name}`).textContent = panel[name]
}

function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

const actions = {
  cannot: () => submit('cannot judge'),
  reason: () => showReason(byId('reason-box').hidden || document.activeElement !== byId('reason')),
  skip,
  back: () => goTo(shown.position - 1),
  forward,
  undo,
}
const KEYS = { c: 'cannot', r: 'reason', s: 'skip', b: 'back', f: 'forward', u: 'undo' }

byId('actions').addEventListener('click', event => {
  const name = event.target.closest('button')?.dataset.do
  if (name) actions[name]()
})

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return
  const field = event.target
  if (field === byId('reason')) {
    if (event.key === 'Escape' || (event.key === 'Enter' && !event.shiftKey)) {
      event.preventDefault()
      byId('texts').focus({ preventScroll: true })
      note(byId('reason').value.trim() ? 'Reason noted. Now press a score: it is kept with your answer.' : 'No reason. Now press a score.')
    }
    return
  }
  if (field.id === 'score') {
    if (event.key === 'Enter') submitNumber()
    else if (event.key === 'Escape') field.blur()
    // Letters cannot be part of a number, so they remain commands.
    else if (event.key.toLowerCase() in KEYS) command(event)
    return
  }
  if (!shown) {
    if (event.key.toLowerCase() === 'u') undo()
    else if (event.key.toLowerCase() === 'b') goTo(total - 1)
    return
  }
  if (event.key === 'Enter' && !field.closest('button, summary, a')) {
    event.preventDefault()
    if (shown.former) forward()
    return
  }
  const level = scale.levels.find(each => each.key === event.key)
  if (level) submit('rating', { value: level.value })
  else if (/^\d$/.test(event.key)) note(`${event.key} is not on the scale: ${scale.text}.`)
  command(event)
})

function command(event) {
  const name = KEYS[event.key.toLowerCase()]
  if (!name) return
  event.preventDefault()
  actions[name]()
}

for (const help of document.querySelectorAll('.question')) help.querySelector('summary').addEventListener('click', () => chosen.add(help))
byId('reason').addEventListener('input', () => sending.draft(shown.item, byId('reason').value))
byId('show-panel').addEventListener('click', () => {
  const panel = byId('panel')
  panel.hidden = !panel.hidden
  byId('show-panel').setAttribute('aria-expanded', String(!panel.hidden))
  if (!panel.hidden) refreshPanel().catch(error => trouble(error.message))
})
byId('skipped').addEventListener('click', () => {
  amongSkipped = true
  once(async () => show(await ask(`/item?${query}&skipped=true`)))
})
byId('finish').addEventListener('click', () => finish(byId('panel-written')))
byId('done-finish').addEventListener('click', () => finish(byId('finished')))
byId('done-back').addEventListener('click', () => goTo(total - 1))
byId('stop').addEventListener('click', () => once(async () => {
  await ask('/stop', { rater })
  byId('finished').textContent = 'rubriclab label has ended. You can close this page.'
  byId('stop').hidden = true
}))
addEventListener('focus', refresh)

// The ends of the scale are not repeated here: they are shown beside its buttons, or in the label of the field.
const [byKey, byTouch] = scale.levels.length ? ['Press a score or its key', 'Tap a score'] : ['Type a score and press Enter', 'Type a score and tap “Save”']
byId('instruction').append(
  element('span', { className: 'keys', textContent: byKey }), element('span', { className: 'touch', textContent: byTouch }),
  ': it is saved and the next text is shown. To give a reason, add it before the score. To correct the last one, undo it.')

once(async () => {
  waiting = 'An earlier answer'
  await sending.deliverStored()
  show(await ask(`/item?${query}`))
})
