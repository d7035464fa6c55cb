import type { Running } from './running.ts';

/** The value of a metric, summed over its labels, in what `/v1/metrics` answers. */
export function figureIn(text: string, name: string): number {
  const lines = text.matchAll(new RegExp(`^reducerdb_${name}(?:\\{.*\\})? (\\d+)$`, 'gm'));
  let sum = 0;
  for (const [, value] of lines) sum += Number(value);
  return sum;
}

/** The value of a metric of a service by now. */
export async function figureOf(running: Running, name: string): Promise<number> {
  return figureIn((await running.ask('GET', '/v1/metrics')).text, name);
}
