// Asks for the rater's name and leads to the rater's own page.

const form = document.getElementById('name-form')
const input = document.getElementById('name')
try {
  input.value = localStorage.getItem('rubriclab-rater') ?? ''
} catch {
  // A browser without storage asks each time.
}

form.addEventListener('submit', event => {
  event.preventDefault()
  const name = input.value.trim()
  if (!name) {
    document.getElementById('error').textContent = 'Type a name.'
    return
  }
  try {
    localStorage.setItem('rubriclab-rater', name)
  } catch {
    // As above.
  }
  location.assign(`/?rater=${encodeURIComponent(name)}`)
})
