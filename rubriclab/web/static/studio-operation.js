// Operations of the server that take a while or ask a judge: their progress, and the price before anything is asked.

import { ask, Unreachable } from './request.js'

const SHOW_AFTER_MS = 150
const POLL_INTERVAL_MS = 500
const RETRY_INTERVAL_MS = 2000

/**
 * The part of a page that shows the progress of an operation. It has elements with `data-part` status, fault, progress,
 * stop, price, words and agree.
 */
export class Panel {
  constructor(element) {
    this.part = Object.fromEntries([...element.querySelectorAll('[data-part]')].map(each => [each.dataset.part, each]))
    this.seconds = undefined
    this.onReturn = undefined
    this.retrying = undefined
  }

  say(words) {
    this.part.status.textContent = words
  }

  /** Show an error beside what was typed. */
  fail(error) {
    this.say('')
    this.part.fault.textContent = error.message
    this.part.fault.hidden = false
  }

  clear() {
    this.part.fault.hidden = this.part.price.hidden = true
  }

  /**
   * Return the answer to `body`, or `undefined` if there is an error or a price, which are shown. `onAgreed` is called
   * with the number of calls once the user agrees to the price.
   */
  async run(path, body, doing, onAgreed) {
    this.clear()
    const request = crypto.randomUUID()
    const watched = this.#watch(request, doing, body.agreed > 0)
    try {
      const answer = await ask(path, { ...body, request })
      this.seconds = answer.seconds ?? this.seconds
      if (!answer.price) return answer
      this.#offer(answer.price, onAgreed)
    } catch (error) {
      if (error instanceof Unreachable) this.#waitForServer()
      else this.fail(error)
    } finally {
      watched.end()
    }
  }

  /** Say that the server is away until it answers again; then `onReturn` is called, if there is one. */
  #waitForServer() {
    this.fail(new Error('The studio does not answer; your changes are kept in this tab.'))
    clearInterval(this.retrying)
    this.retrying = setInterval(async () => {
      const back = await ask('/-/operations/none').then(() => true, () => false)
      if (!back) return
      clearInterval(this.retrying)
      this.clear()
      this.say('The studio answers again.')
      this.onReturn?.()
    }, RETRY_INTERVAL_MS)
  }

  #offer(price, onAgreed) {
    const { words, agree } = this.part
    this.say('This needs new answers of the judge.')
    words.textContent = price.words
    agree.textContent = price.label
    agree.onclick = () => onAgreed(price.calls)
    this.part.price.hidden = false
  }

  #watch(request, doing, stoppable) {
    const { progress, stop } = this.part
    const begun = performance.now()
    const last = this.seconds === undefined ? '' : `; the last time it took ${this.seconds} s`
    const first = setTimeout(() => {
      progress.removeAttribute('value')
      progress.hidden = false
      stop.hidden = !stoppable
      this.say(`${doing}…`)
    }, SHOW_AFTER_MS)
    stop.onclick = () => ask(`/-/operations/${request}/stop`, {}).catch(() => {})
    const polling = setInterval(async () => {
      const operation = await ask(`/-/operations/${request}`).catch(() => ({}))
      if (operation.share >= 0) progress.value = operation.share
      const elapsed = ((performance.now() - begun) / 1000).toFixed(0)
      this.say(`${doing}, ${elapsed} s${last}${stoppable && operation.doing ? `: ${operation.doing}` : ''}`)
    }, POLL_INTERVAL_MS)
    const end = () => {
      clearTimeout(first)
      clearInterval(polling)
      progress.hidden = stop.hidden = true
    }
    return { end }
  }
}

/** Show notices beside a result. */
export function showNotices(list, notices) {
  list.replaceChildren(...notices.map(words => Object.assign(document.createElement('li'), { textContent: words })))
  list.hidden = !notices.length
}
