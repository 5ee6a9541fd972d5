// Answers are sent until the server has them: each is kept in the browser from the moment it is given.

import { ask, Refused } from './request.js'

const PAUSE = 2000

/** Return an unguessable id. `crypto.randomUUID` does not exist on pages of other computers without https. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}

/** Return the browser's storage, or one for this page only where the browser refuses. */
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
  /** `onTrouble` is told a message while the server cannot be reached, and '' afterwards. */
  constructor(question, rater, onTrouble) {
    this.kept = storage()
    this.prefix = `rubriclab-label:${question}:${rater}:`
    this.onTrouble = onTrouble
  }

  /** Return the server's answer to `body`, which is sent to `path` until the server has it. */
  async deliver(path, id, body) {
    const key = this.prefix + id
    this.kept.setItem(key, JSON.stringify({ path, body }))
    for (;;) {
      try {
        const answer = await ask(path, body)
        this.kept.removeItem(key)
        this.onTrouble('')
        return answer
      } catch (error) {
        if (error instanceof Refused && error.status < 500) {
          // The page of a server that has been started anew may have another token: what is kept is sent once loaded.
          if (error.status === 403 && this.reloadOnce()) return new Promise(() => {})
          // Only an answer that the rater sees refused is given up: a link that no longer works refuses every answer.
          if (error.status === 400) this.kept.removeItem(key)
          throw error
        }
        const reason = error instanceof Refused ? error.message : 'The server cannot be reached.'
        this.onTrouble(`${reason} It is kept in this browser and is sent again until it arrives.`)
        await new Promise(resolve => setTimeout(resolve, PAUSE))
      }
    }
  }

  /** Send what an earlier page could not. What is refused stays: it may be about texts that are labelled again later. */
  async deliverKept() {
    const keys = Array.from({ length: this.kept.length }, (_, number) => this.kept.key(number)).filter(key => key.startsWith(this.prefix))
    for (const key of keys) {
      const kept = this.kept.getItem(key)
      // Another tab may have sent it in the meantime.
      if (kept === null) continue
      const { path, body } = JSON.parse(kept)
      try {
        await this.deliver(path, key.slice(this.prefix.length), body)
      } catch (error) {
        if (error.status !== 400) throw error
        this.kept.setItem(key, kept)
      }
    }
  }

  /** A reason that is not sent yet survives a reload. */
  draft(item, words) {
    const key = `rubriclab-draft:${this.prefix}${item}`
    if (words === undefined) return this.kept.getItem(key) ?? ''
    if (words) this.kept.setItem(key, words)
    else this.kept.removeItem(key)
    return words
  }

  reloadOnce() {
    const last = Number(sessionStorage.getItem('rubriclab-reloaded') ?? 0)
    if (Date.now() - last < 10_000) return false
    sessionStorage.setItem('rubriclab-reloaded', String(Date.now()))
    location.reload()
    return true
  }
}
