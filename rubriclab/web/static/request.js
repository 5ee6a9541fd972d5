// Requests of a page to its own server.

const tokenOf = page => page.querySelector('meta[name="token"]')?.content ?? ''
let token = tokenOf(document)

/** The server does not answer at all. */
export class Unreachable extends Error {}

export class Refused extends Error {
  constructor(status, words) {
    super(words)
    this.status = status
  }
}

/** Return the JSON answer to a request; `body` (anything JSON can hold) makes it a POST. */
export async function ask(path, body) {
  let answer = await send(path, body)
  if (answer.status === 403 && body !== undefined && await renewToken()) answer = await send(path, body)
  const json = answer.headers.get('content-type')?.startsWith('application/json')
  if (!answer.ok) throw new Refused(answer.status, json ? (await answer.json()).error : await answer.text())
  return answer.json()
}

async function send(path, body) {
  const options = body === undefined
    ? {}
    : { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Rubriclab-Token': token }, body: JSON.stringify(body) }
  try {
    return await fetch(path, { credentials: 'same-origin', ...options })
  } catch {
    throw new Unreachable('The server does not answer.')
  }
}

/** Load the page again, and return whether its token has changed, as after a restart of the server. */
async function renewToken() {
  const answer = await fetch(location.href, { credentials: 'same-origin' }).catch(() => undefined)
  if (!answer?.ok) return false
  const found = tokenOf(new DOMParser().parseFromString(await answer.text(), 'text/html'))
  const isNew = found !== '' && found !== token
  if (isNew) token = found
  return isNew
}
