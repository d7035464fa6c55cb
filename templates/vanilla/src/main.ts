import { client } from './database.ts';
import { showNotes } from './notes.ts';
import { part } from './part.ts';
import './style.css';

const problem = part('.problem', HTMLElement);

/** Waits for a call, and says why it was refused if it was. */
async function attempt(call: Promise<unknown>): Promise<boolean> {
  const failure = await call.then(
    () => '',
    (error: Error) => error.message,
  );
  problem.textContent = failure;
  problem.hidden = failure === '';
  return failure === '';
}

showNotes(part('.notes', HTMLElement), attempt);

const composer = part('.composer', HTMLFormElement);
composer.addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = String(new FormData(composer).get('text'));
  if (await attempt(client.reducers.addNote({ text }))) composer.reset();
});

const presence = part('.presence', HTMLElement);
const visitors = client.watch((from) => from.visitor);
const showPresence = () => {
  const isLive = client.state.get().kind === 'live';
  const count = visitors.get().rows.length;
  presence.classList.toggle('offline', !isLive);
  presence.textContent = isLive
    ? `${count} ${count === 1 ? 'window' : 'windows'} open`
    : 'connecting …';
};
client.state.subscribe(showPresence);
visitors.subscribe(showPresence);
