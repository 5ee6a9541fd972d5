// Requests of a page to its own server.

const token = document.querySelector('meta[name="token"]')?.content ?? ''

export class Refused extends Error {
  constructor(status, words) {
    super(words)
    this.status = status
  }
}

/** Return the JSON answer to a request; `body` (anything JSON can hold) makes it a POST. */
export async function ask(path, body) {
  const options = body === undefined
    ? {}
    : { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Rubriclab-Token': token }, body: JSON.stringify(body) }
  const answer = await fetch(path, { credentials: 'same-origin', ...options })
  const json = answer.headers.get('content-type')?.startsWith('application/json')
  if (!answer.ok) throw new Refused(answer.status, json ? (await answer.json()).error : await answer.text())
  return answer.json()
}
