// What the user types stays in this tab until the server has stored it, so that a reload or an error loses nothing.

const SIGNATURE = 'rubriclab:by'

/** Return the draft under `key`, or `undefined`. */
export function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? undefined
  } catch {
    return undefined
  }
}

/** Keep a draft, anything that JSON can hold; `undefined` removes it. */
export function write(key, draft) {
  try {
    if (draft === undefined) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, JSON.stringify(draft))
  } catch {
    // Without storage the draft lives as long as the page.
  }
}

/** Fill a field with the user's name as it was given last, and remember it from now on. */
export function rememberName(field) {
  try {
    field.value ||= localStorage.getItem(SIGNATURE) ?? ''
    field.onchange = () => localStorage.setItem(SIGNATURE, field.value)
  } catch {
    // Without storage it is typed each time.
  }
}
