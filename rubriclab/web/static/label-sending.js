// Answers are sent until the server has them; until then each is stored in the browser.

import { ask, Refused } from './request.js'

const PAUSE = 2000

/** Return an unguessable id. `crypto.randomUUID` does not exist on pages of other computers without https. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}

/** Return the browser's storage, or where the browser refuses it, one that lasts as long as this page. */
function storage() {
  try {
    localStorage.setItem('rubriclab-test', '')
    localStorage.removeItem('rubriclab-test')
    return localStorage
  } catch {
    const kept = new Map()
    return {
      getItem: key => kept.get(key) ?? null,
      setItem: (key, value) => kept.set(key, value),
      removeItem: key => kept.delete(key),
      key: number => [...kept.keys()][number],
      get length() { return kept.size },
    }
  }
}

export class Sending {
  /** `onTrouble` is called with a message while the server cannot be reached, and with '' afterwards. */
  constructor(question, rater, onTrouble) {
    this.storage = storage()
    this.prefix = `rubriclab-label:${question}:${rater}:`
    this.onTrouble = onTrouble
  }

  /** Return the server's answer to `body`, which is sent to `path` until the server has it. */
  async deliver(path, id, body) {
    const key = this.prefix + id
    this.storage.setItem(key, JSON.stringify({ path, body }))
    for (;;) {
      try {
        const answer = await ask(path, body)
        this.storage.removeItem(key)
        this.onTrouble('')
        return answer
      } catch (error) {
        if (error instanceof Refused && error.status < 500) {
          // A restarted server may have a new token: the page is loaded again, and then sends the stored answers.
          if (error.status === 403 && this.reloadOnce()) return new Promise(() => {})
          // Only a faulty answer (400) is discarded: with a link that no longer works, every answer would be refused.
          if (error.status === 400) this.storage.removeItem(key)
          throw error
        }
        const reason = error instanceof Refused ? error.message : 'The server cannot be reached.'
        this.onTrouble(`${reason} It is kept in this browser and is sent again until it arrives.`)
        await new Promise(resolve => setTimeout(resolve, PAUSE))
      }
    }
  }

  /** Send the answers that an earlier page could not. Refused ones stay stored: their texts may be labelled again later. */
  async deliverStored() {
    const keys = Array.from({ length: this.storage.length }, (_, number) => this.storage.key(number)).filter(key => key.startsWith(this.prefix))
    for (const key of keys) {
      const stored = this.storage.getItem(key)
      // Another tab may have sent it in the meantime.
      if (stored === null) continue
      const { path, body } = JSON.parse(stored)
      try {
        await this.deliver(path, key.slice(this.prefix.length), body)
      } catch (error) {
        if (error.status !== 400) throw error
        this.storage.setItem(key, stored)
      }
    }
  }

  /** Return the stored draft of a reason, which survives a reload; `text` replaces it, '' removes it. */
  draft(item, text) {
    const key = `rubriclab-draft:${this.prefix}${item}`
    if (text === undefined) return this.storage.getItem(key) ?? ''
    if (text) this.storage.setItem(key, text)
    else this.storage.removeItem(key)
    return text
  }

  reloadOnce() {
    const last = Number(sessionStorage.getItem('rubriclab-reloaded') ?? 0)
    if (Date.now() - last < 10_000) return false
    sessionStorage.setItem('rubriclab-reloaded', String(Date.now()))
    location.reload()
    return true
  }
}
