// Filters and sorting without loading the whole page: a form or link marked data-live replaces only the part of the page
// marked data-region. It also changes the address, which can be bookmarked.

const TYPING_PAUSE = 150
let latest = 0

async function show(address, focusId) {
  const request = ++latest
  const region = document.querySelector('[data-region]')
  region.setAttribute('aria-busy', 'true')
  let page
  try {
    const answer = await fetch(address, { credentials: 'same-origin', headers: { Accept: 'text/html' } })
    page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (!answer.ok) throw new Error(page.querySelector('[role="alert"]')?.textContent ?? answer.statusText)
  } catch (error) {
    if (request === latest) failed(region, error)
    return
  }
  // A late answer must not replace the answer to a later request.
  if (request !== latest) return
  region.replaceChildren(...page.querySelector('[data-region]').childNodes)
  region.removeAttribute('aria-busy')
  history.replaceState(null, '', address)
  document.title = page.title
  document.querySelector('h1').textContent = page.querySelector('h1').textContent
  if (focusId) document.getElementById(focusId)?.focus()
}

function failed(region, error) {
  const message = document.createElement('p')
  message.setAttribute('role', 'alert')
  message.textContent = error instanceof TypeError ? 'rubriclab does not answer; start it again.' : error.message
  region.removeAttribute('aria-busy')
  region.querySelector(':scope > [role="alert"]')?.remove()
  region.prepend(message)
}

function address(form) {
  const fields = [...new FormData(form)].filter(([, value]) => value !== '')
  return `${location.pathname}?${new URLSearchParams(fields)}`
}

for (const form of document.querySelectorAll('form[data-live]')) {
  let waiting
  form.addEventListener('submit', event => { event.preventDefault(); show(address(form)) })
  form.addEventListener('input', event => {
    clearTimeout(waiting)
    waiting = setTimeout(() => show(address(form)), event.target.matches('[type="search"], [type="number"]') ? TYPING_PAUSE : 0)
  })
}

document.addEventListener('click', async event => {
  const link = event.target.closest('a[data-live]')
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  await show(link.href, link.id)
  // The next search keeps the chosen order.
  const query = new URL(link.href).searchParams
  for (const field of document.querySelectorAll('form[data-live] input[type="hidden"]')) field.value = query.get(field.name) ?? ''
})
