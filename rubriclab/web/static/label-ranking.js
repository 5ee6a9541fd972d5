// Texts side by side, to be dragged or moved by keyboard into an order, the best first.

import { element, prose } from './label-texts.js'

export class Ranking {
  /** `say` tells screen readers what has moved. */
  constructor(container, texts, places, say) {
    this.container = container
    this.say = say
    // Whether the order or a tie was changed since the texts were shown.
    this.changed = false
    const order = places.length ? places : texts.map((_, number) => [number])
    this.cards = order.flatMap(place => place.map((number, within) => this.card(texts[number], number, within > 0)))
    container.replaceChildren(...this.cards)
    this.number()
  }

  /** Return the numbers of the texts by place, the best first. */
  places() {
    const places = []
    for (const card of this.cards) {
      if (card.classList.contains('tied')) places.at(-1).push(Number(card.dataset.text))
      else places.push([Number(card.dataset.text)])
    }
    return places
  }

  /** Focus the card at a place, counted from 1. */
  focus(place) {
    this.cards[place - 1]?.focus()
  }

  card(text, number, tied) {
    const card = element('article', { className: 'text', tabIndex: 0 })
    card.dataset.text = number
    card.classList.toggle('tied', tied)
    const button = (words, label, act) => {
      const made = element('button', { type: 'button', textContent: words, title: label })
      made.setAttribute('aria-label', label)
      made.addEventListener('click', act)
      return made
    }
    const handle = element('span', { className: 'handle', textContent: '⠿', title: 'Drag' })
    handle.setAttribute('aria-hidden', 'true')
    handle.addEventListener('pointerdown', event => this.drag(event, card, handle))
    card.append(
      element('div', { className: 'place' }, handle, element('span', { className: 'rank' }),
        button('↑', 'Move up', () => this.move(card, -1)), button('↓', 'Move down', () => this.move(card, 1)),
        button('=', 'Equal to the one before, or not', () => this.tie(card))),
      prose(text),
    )
    card.addEventListener('keydown', event => this.key(event, card))
    return card
  }

  key(event, card) {
    if (event.target !== card || event.ctrlKey || event.metaKey || event.altKey) return
    const steps = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }
    if (event.key in steps) this.move(card, steps[event.key])
    else if (event.key === '=') this.tie(card)
    else return
    event.preventDefault()
  }

  move(card, step) {
    const place = this.cards.indexOf(card)
    const other = place + step
    if (other < 0 || other >= this.cards.length) return
    this.put(card, other)
    card.focus()
    this.say(`Now place ${other + 1} of ${this.cards.length}`)
  }

  put(card, place) {
    this.changed = true
    this.cards.splice(this.cards.indexOf(card), 1)
    this.cards.splice(place, 0, card)
    card.classList.remove('tied')
    this.container.replaceChildren(...this.cards)
    this.number()
  }

  tie(card) {
    if (card === this.cards[0]) return
    this.changed = true
    card.classList.toggle('tied')
    this.number()
    this.say(card.classList.contains('tied') ? 'Equal to the one before' : 'Not equal to the one before')
  }

  drag(event, card, handle) {
    event.preventDefault()
    handle.setPointerCapture(event.pointerId)
    card.classList.add('dragged')
    const over = moved => {
      const target = document.elementFromPoint(moved.clientX, moved.clientY)?.closest('.text')
      if (!target || target === card || !this.cards.includes(target)) return
      const box = target.getBoundingClientRect()
      const before = this.cards.indexOf(card) > this.cards.indexOf(target)
      // Past the middle only: cards of different sizes would else change places without end.
      const sideBySide = Math.abs(box.top - card.getBoundingClientRect().top) < box.height / 2
      const share = sideBySide ? (moved.clientX - box.left) / box.width : (moved.clientY - box.top) / box.height
      if (before ? share > 0.5 : share < 0.5) return
      this.put(card, this.cards.indexOf(target))
      if (!handle.hasPointerCapture(moved.pointerId)) handle.setPointerCapture(moved.pointerId)
    }
    const end = () => {
      card.classList.remove('dragged')
      handle.removeEventListener('pointermove', over)
      this.say(`Now place ${this.cards.indexOf(card) + 1} of ${this.cards.length}`)
    }
    handle.addEventListener('pointermove', over)
    handle.addEventListener('lostpointercapture', event => {
      // Moving a card in the page releases the pointer; it is captured again as long as a button is down.
      if (event.buttons === 0) end()
    })
    handle.addEventListener('pointerup', end, { once: true })
  }

  number() {
    this.cards[0]?.classList.remove('tied')
    let rank = 0
    this.cards.forEach((card, place) => {
      if (!card.classList.contains('tied')) rank = place + 1
      card.querySelector('.rank').textContent = `${rank}.`
      card.setAttribute('aria-label', `Place ${rank} of ${this.cards.length}`)
    })
  }
}
