import type { TableRow } from 'reducerdb/client';
import { client, type Module } from './database.ts';
import './style.css';
import './desk.css';

const problem = part('.problem', HTMLElement);
const composer = part('.composer', HTMLFormElement);
composer.addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = String(new FormData(composer).get('text'));
  const asked = await client.reducers.ask.result({ text });
  problem.textContent = asked.ok ? '' : asked.error.message;
  problem.hidden = asked.ok;
  if (asked.ok) composer.reset();
});

const presence = part('.presence', HTMLElement);
client.state.subscribe(() => {
  const isLive = client.state.get().kind === 'live';
  presence.classList.toggle('offline', !isLive);
  presence.textContent = isLive ? 'live' : 'connecting …';
});

const list = part('.notes', HTMLElement);
const questions = client.watch((from) => from.question, {
  sort: (a, b) => Number(b.id - a.id),
  limit: 50,
});
questions.subscribe(() => {
  list.replaceChildren(...questions.get().rows.map(item));
});

/** Items stay as they are while their row does: only what changed is made again. */
const made = new WeakMap<object, HTMLElement>();

function item(question: TableRow<Module, 'question'>): HTMLElement {
  const known = made.get(question);
  if (known !== undefined) return known;
  const element = document.createElement('li');
  const asked = document.createElement('p');
  asked.textContent = question.text;
  const answer = document.createElement('p');
  answer.className = question.answer === undefined ? 'answer waiting' : 'answer';
  answer.textContent = question.answer ?? 'waiting for the agent: npm run agent';
  element.append(asked, answer);
  made.set(question, element);
  return element;
}

function part<E extends Element>(selector: string, type: new () => E): E {
  const found = document.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`index.html has no ${selector}`);
  return found;
}
