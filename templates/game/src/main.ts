import { client } from './database.ts';
import { draw } from './draw.ts';
import { watchKeys, watchPointer } from './steering.ts';
import './style.css';
import './game.css';

const canvas = part('canvas', HTMLCanvasElement);
const presence = part('.presence', HTMLElement);
const scores = part('.scores', HTMLElement);

const players = client.watch((from) => from.player.where((row) => row.online.eq(true)));
const coins = client.watch((from) => from.coin);
coins.subscribe(() => {});
players.subscribe(showScores);

client.state.subscribe(() => {
  const isLive = client.state.get().kind === 'live';
  presence.classList.toggle('offline', !isLive);
  if (!isLive) presence.textContent = 'connecting …';
  // Also after a connection was lost: the database has taken the player out of the game.
  else client.reducers.enter().catch((error: Error) => console.error(error));
});

function showScores(): void {
  const { rows } = players.get();
  presence.textContent = `${rows.length} ${rows.length === 1 ? 'player' : 'players'}`;
  const best = rows.toSorted((a, b) => b.score - a.score).slice(0, 8);
  const items = best.map(({ identity, hue, score }) => {
    const item = document.createElement('li');
    item.textContent = String(score);
    item.style.setProperty('--hue', String(hue));
    item.classList.toggle('me', client.identity !== undefined && identity.equals(client.identity));
    return item;
  });
  scores.replaceChildren(...items);
}

const steer = (dx: number, dy: number) => {
  // A call that did not arrive is made up for by the next one.
  client.reducers.steer({ dx, dy }).catch(() => {});
};
watchKeys(steer);
watchPointer(canvas, steer, () => {
  return players.get().rows.find(({ identity }) => client.identity?.equals(identity));
});

function frame(millis: number): void {
  draw(canvas, {
    millis,
    players: players.get().rows,
    coins: coins.get().rows,
    me: client.identity,
  });
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);

function part<E extends Element>(selector: string, type: new () => E): E {
  const found = document.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`index.html has no ${selector}`);
  return found;
}
