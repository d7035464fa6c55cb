import type { Identity, TableRow } from 'reducerdb/client';
import type { Module } from './database.ts';

interface Scene {
  readonly millis: number;
  readonly players: readonly TableRow<Module, 'player'>[];
  readonly coins: readonly TableRow<Module, 'coin'>[];
  readonly me: Identity | undefined;
}

interface Spot {
  x: number;
  y: number;
}

/** Where players are drawn. Rows come 20 times a second: in between, spots move towards them. */
const spots = new Map<string, Spot>();
let drawnMillis = 0;

export function draw(canvas: HTMLCanvasElement, { millis, players, coins, me }: Scene): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const nearer = 1 - Math.exp((drawnMillis - millis) / 60);
  drawnMillis = millis;
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (const { id, x, y } of coins) {
    const swing = Math.sin(millis / 300 + Number(id)) * 2;
    disc(context, { x, y: y + swing }, 11, '#f0b429');
  }
  const shown = new Set<string>();
  for (const { identity, hue, x, y } of players) {
    const key = identity.toHexString();
    shown.add(key);
    const spot = spots.get(key) ?? { x, y };
    spots.set(key, spot);
    // Across an edge a player jumps to the other side.
    const isJump = Math.hypot(x - spot.x, y - spot.y) > 300;
    spot.x = isJump ? x : spot.x + (x - spot.x) * nearer;
    spot.y = isJump ? y : spot.y + (y - spot.y) * nearer;
    if (me?.equals(identity)) disc(context, spot, 34, `hsl(${hue} 60% 55% / 25%)`);
    disc(context, spot, 25, `hsl(${hue} 60% 55%)`);
  }
  for (const key of spots.keys()) {
    if (!shown.has(key)) spots.delete(key);
  }
}

function disc(context: CanvasRenderingContext2D, { x, y }: Spot, radius: number, fill: string) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.fill();
}
