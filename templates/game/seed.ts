import type { Client } from 'reducerdb/client';
import type * as module from './module/src/index.ts';

/** The first coins, in two rings. `reducerdb dev` runs this once, when the database is empty. */
export default async function seed(client: Client<typeof module>): Promise<void> {
  for (const [count, radius] of [
    [8, 160],
    [16, 330],
  ] as const) {
    for (let at = 0; at < count; at += 1) {
      const angle = (2 * Math.PI * at) / count;
      const [x, y] = [800 + radius * Math.cos(angle), 450 + radius * Math.sin(angle)];
      await client.reducers.layCoin({ x, y });
    }
  }
}
