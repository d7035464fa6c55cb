import { expect, it } from 'vitest';
import { LineEnd } from './line-end.ts';
import type { FaultyFrame, LineFrame } from './line-frames.ts';

/** Two ends, whose way is cut at any byte. */
class Pair {
  readonly taken: number[] = [];
  readonly back: number[] = [];
  readonly one = new LineEnd(
    (frame) => this.back.push(numberOf(frame)),
    () => undefined,
  );
  readonly other = new LineEnd(
    (frame) => this.taken.push(numberOf(frame)),
    () => undefined,
  );
  #room = 0;

  /** A new way, over which so many bytes go, in pieces of any length. */
  join(bytes: number, random: () => number): void {
    this.#room = bytes;
    const way = (to: LineEnd) => {
      let isOpen = true;
      return {
        write: (written: Buffer) => {
          for (let at = 0; at < written.length && isOpen && this.#room > 0; ) {
            const length = Math.min(1 + Math.floor(random() * 40), this.#room);
            to.receive(written.subarray(at, at + length));
            at += length;
            this.#room -= length;
          }
        },
        close: () => {
          isOpen = false;
        },
      };
    };
    const [there, here] = [this.other.taken, this.one.taken];
    this.one.begin(way(this.other), there);
    this.other.begin(way(this.one), here);
  }
}

function numberOf(frame: LineFrame | FaultyFrame): number {
  return frame.kind === 'leave' ? frame.channel : -1;
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('[replication 12.6] takes each frame once and in order, wherever its way is cut', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomOf(seed);
    const pair = new Pair();
    let sent = 0;
    for (let round = 0; round < 20; round++) {
      pair.join(Math.floor(random() * 3_000), random);
      for (let count = Math.floor(random() * 20); count > 0; count--) {
        pair.one.send({ kind: 'leave', channel: sent });
        pair.other.send({ kind: 'leave', channel: sent });
        sent += 1;
      }
      await turn();
    }
    pair.join(Number.POSITIVE_INFINITY, random);
    await turn();
    const all = Array.from({ length: sent }, (_, at) => at);
    expect([pair.taken, pair.back]).toEqual([all, all]);
    for (const end of [pair.one, pair.other]) {
      end.look();
      end.end();
    }
  }
});

it('[replication 12.6] keeps what was not heard, and knows what has not left', async () => {
  const end = new LineEnd(
    () => undefined,
    () => undefined,
  );
  const written: Buffer[] = [];
  const way = { write: (bytes: Buffer) => void written.push(bytes), close: () => undefined };
  const first = end.send({ kind: 'leave', channel: 1 });
  expect([end.mayBeThere(first), end.isOpen]).toEqual([false, false]);
  end.begin(way, 0);
  await turn();
  expect([end.mayBeThere(first), written.length, end.unheardBytes > 0]).toEqual([true, 1, true]);
  end.end();
  const second = end.send({ kind: 'leave', channel: 2 });
  await turn();
  expect([end.mayBeThere(second), written.length]).toEqual([false, 1]);
  // The other end says that it has the first one.
  end.begin(way, 1);
  await turn();
  expect([end.mayBeThere(second), written.length]).toEqual([true, 2]);
  end.begin(way, 2);
  expect(end.unheardBytes).toBe(0);
  end.end();
});
