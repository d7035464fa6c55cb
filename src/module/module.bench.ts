import {
  accountCodecs,
  accountIdIndex,
  accountTableId,
  loadProgram,
  type ModuleUnderTest,
  rawProgram,
} from '../../test/support/module-under-test.ts';
import { present } from '../assert.ts';
import type { RowRef } from '../store/row-ref.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import type { ReducerCall } from './runner.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
}

const accounts = 1_000;

/**
 * Calls per second through the sandbox, in batches as a turn makes them: a reducer that does
 * nothing (the baseline is begin and commit alone), and a transfer of 2 finds and 2 updates with
 * handwritten codecs (the baseline does the same on the store). `scale` 1 takes about five seconds.
 */
export async function benchmarks(scale: number): Promise<Figure[]> {
  const rounds = Math.ceil(scale * 200_000);
  const module = await loadProgram(rawProgram(transferBody, accountCodecs));
  module.call(openId, { args: new Uint8Array(0) });
  const empty = perSecond(rounds, callMany(module, emptyId));
  const unbatched = perSecond(rounds, callOneByOne(module, emptyId));
  const transfer = perSecond(rounds, callMany(module, transferId));
  const nothing = perSecond(rounds, emptyTransactions(module));
  const direct = perSecond(rounds, directTransfers(module));
  return [
    { name: 'call of an empty reducer', unit: 'calls/s', value: empty, baseline: nothing },
    { name: 'the same, entering the realm for each', unit: 'calls/s', value: unbatched },
    {
      name: 'transfer: 2 finds, 2 updates',
      unit: 'calls/s',
      value: transfer,
      baseline: direct,
    },
  ];
}

const openId = 0;
const emptyId = 1;
const transferId = 2;

const transferBody = `
  if (id === ${emptyId}) return;
  if (id === ${openId}) {
    for (let account = 1; account <= ${accounts}; account += 1) put(account, 1000000n);
    return;
  }
  const from = args.getUint32(0, true);
  const to = args.getUint32(4, true);
  const amount = args.getBigInt64(8, true);
  const first = find(from);
  const second = find(to);
  if (first < amount) throw new SenderError('too little');
  change(from, first - amount);
  change(to, second + amount);
`;

type Run = (rounds: number) => void;

function callMany(module: ModuleUnderTest, reducerId: number): Run {
  const one = callOneByOne(module, reducerId);
  return (rounds) => module.runner.batch?.(() => one(rounds));
}

function callOneByOne({ runner, store }: ModuleUnderTest, reducerId: number): Run {
  const args = new Uint8Array(16);
  const call: ReducerCall = {
    reducerId,
    reducerName: 'bench',
    sender: callerIdentity(1n),
    connectionId: connectionNumber(2n),
    timestampMicros: 3n,
    args,
    seed: new Uint8Array(32),
    jwtPayload: '',
  };
  return (rounds) => {
    for (let round = 0; round < rounds; round += 1) {
      writeTransfer(args, round);
      const transaction = store.begin();
      const { kind } = runner.callReducer(call, transaction);
      if (kind !== 'returned') throw new Error(`the reducer has ${kind}`);
      transaction.commit();
    }
  };
}

function emptyTransactions({ store }: ModuleUnderTest): Run {
  return (rounds) => {
    for (let round = 0; round < rounds; round += 1) store.begin().commit();
  };
}

function directTransfers({ store }: ModuleUnderTest): Run {
  const table = present(store.table(accountTableId), 'table');
  const index = present(store.index(accountIdIndex), 'index');
  const args = new Uint8Array(16);
  const view = new DataView(args.buffer);
  const row = new Uint8Array(64);
  const rowView = new DataView(row.buffer);
  const find = (id: number): bigint => {
    rowView.setUint32(0, id, true);
    table.copyRow(table.find(index, row, 4) as RowRef, row, 0);
    return rowView.getBigInt64(4, true);
  };
  return (rounds) => {
    for (let round = 0; round < rounds; round += 1) {
      writeTransfer(args, round);
      const transaction = store.begin();
      const change = (id: number, balance: bigint): void => {
        rowView.setUint32(0, id, true);
        rowView.setBigInt64(4, balance, true);
        transaction.update(table, index, row, 12);
      };
      const from = view.getUint32(0, true);
      const to = view.getUint32(4, true);
      const amount = view.getBigInt64(8, true);
      const first = find(from);
      const second = find(to);
      change(from, first - amount);
      change(to, second + amount);
      transaction.commit();
    }
  };
}

/** Every account pays the next one 1 in turn. */
function writeTransfer(args: Uint8Array, round: number): void {
  const view = new DataView(args.buffer);
  view.setUint32(0, 1 + (round % accounts), true);
  view.setUint32(4, 1 + ((round + 1) % accounts), true);
  view.setBigInt64(8, 1n, true);
}

/** Best of three, after one to warm up. */
function perSecond(rounds: number, run: Run): number {
  run(rounds);
  let best = 0;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const start = performance.now();
    run(rounds);
    best = Math.max(best, (rounds * 1000) / (performance.now() - start));
  }
  return best;
}
