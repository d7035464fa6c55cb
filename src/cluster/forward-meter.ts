import { TimeCounts, type TimeFigures } from '../database/time-counts.ts';
import type { Routed } from './routing.ts';

export interface ForwardCount {
  readonly door: 'http' | 'mcp' | 'websocket';
  readonly result: Routed['kind'];
  readonly count: number;
}

/** Counts requests that this host took to the host that leads their database. */
export class ForwardMeter {
  readonly #counts = new Map<string, ForwardCount>();
  readonly #times = new TimeCounts();

  get counts(): readonly ForwardCount[] {
    return [...this.#counts.values()];
  }

  get times(): TimeFigures {
    return this.#times.figures();
  }

  /** Counts one request, and how long it took until its answer began. */
  count(path: string, result: Routed['kind'], millis: number): void {
    const door = doorOf(path);
    const key = `${door} ${result}`;
    const count = (this.#counts.get(key)?.count ?? 0) + 1;
    this.#counts.set(key, { door, result, count });
    if (result === 'answered') this.#times.add(millis);
  }
}

function doorOf(path: string): ForwardCount['door'] {
  const [bare = ''] = path.split('?', 1);
  if (bare.endsWith('/mcp')) return 'mcp';
  return bare.endsWith('/subscribe') ? 'websocket' : 'http';
}

export function resultOf({ kind }: { readonly kind: string }): ForwardCount['result'] {
  // A connection that was upgraded was answered, too.
  return kind === 'upgraded' ? 'answered' : (kind as ForwardCount['result']);
}
