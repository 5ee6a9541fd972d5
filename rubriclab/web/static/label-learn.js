// Shows the price, then how far learning is, then the way to the report. Ratings can go on meanwhile.

import { element } from './label-texts.js'
import { ask } from './request.js'

const by = id => document.getElementById(id)
const rater = by('learning').dataset.rater
const PAUSE = 1000

function trouble(error) {
  by('error').textContent = error ? error.message || 'The server cannot be reached.' : ''
}

function show(state) {
  by('under-way').hidden = state.status === 'idle'
  by('start').disabled = state.status === 'running'
  by('report').hidden = state.version === null
  by('share').hidden = state.status !== 'running'
  if (state.share >= 0) by('share').value = state.share
  else by('share').removeAttribute('value')
  by('phase').textContent = state.status === 'done' ? `Learned ${state.version}.` : state.words
}

async function watch() {
  for (;;) {
    try {
      const state = await ask('/learn/state')
      show(state)
      if (state.status !== 'running') return
    } catch (error) {
      trouble(error)
    }
    await new Promise(resolve => setTimeout(resolve, PAUSE))
  }
}

by('start').addEventListener('click', async () => {
  by('start').disabled = true
  trouble(null)
  try {
    show(await ask('/learn/start', { rater }))
    await watch()
  } catch (error) {
    trouble(error)
    by('start').disabled = false
  }
})

async function begin() {
  try {
    const { lines } = await ask('/learn/price')
    by('price').replaceChildren(...lines.map(words => element('p', { textContent: words })))
    by('start').disabled = false
  } catch (error) {
    by('price').replaceChildren()
    trouble(error)
  }
  await watch()
}

begin()
