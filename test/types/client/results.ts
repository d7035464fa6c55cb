import {
  CallError,
  type CallResult,
  connect,
  isCallError,
  type SenderError,
} from 'reducerdb/client';
import type * as market from '../../client/market.ts';
import { type Equal, expectType } from '../expect.ts';

// What reducers return and refuse with, as a client sees it.

const client = connect<typeof market>({ uri: 'ws://localhost:3000', database: 'market' });
const args = { from: 'ada', to: 'bob', gold: 5 };

export async function results(): Promise<void> {
  const no = await client.reducers.trade(args);
  expectType<Equal<typeof no, bigint>>();
  const both = await client.reducers.tradeTwice(args);
  expectType<Equal<typeof both, bigint[]>>();
  const gold = await client.reducers.gold({ of: 'ada' });
  expectType<Equal<typeof gold, number | undefined>>();
  const { note } = await client.reducers.lastReceipt();
  expectType<Equal<typeof note, string | undefined>>();
  const nothing = await client.reducers.close();
  expectType<Equal<typeof nothing, void>>();
  // @ts-expect-error: it returns a bigint
  const wrong: number = await client.reducers.trade(args);
  console.log(wrong);
}

export async function refusals(): Promise<string> {
  try {
    await client.reducers.trade(args);
  } catch (error) {
    if (isCallError(error, client.reducers.trade)) {
      expectType<Equal<typeof error.code, 'reducer.refused'>>();
      const sender: SenderError = error;
      if (error.error.tag === 'TooPoor') return `${error.error.value.missing} ${sender.message}`;
      if (error.error.tag === 'NoPurse') return error.error.value;
      expectType<Equal<typeof error.error.tag, 'Closed'>>();
      // @ts-expect-error: no such variant
      return error.error.tag === 'TooRich';
    }
    if (isCallError(error, client.reducers.fill)) expectType<Equal<typeof error.error, never>>();
    // @ts-expect-error: no call of a reducer
    isCallError(error, client.procedures);
  }
  const result = await client.reducers.trade.result(args);
  if (result.ok) return String(result.value + 1n);
  if (result.error instanceof CallError) return result.error.error.tag;
  return result.error.message;
}

export async function plain(): Promise<void> {
  const filled = await client.reducers.fill.result({ ownerName: 'ada', gold: 5 });
  expectType<Equal<typeof filled, CallResult<void>>>();
  if (!filled.ok) expectType<Equal<typeof filled.error, Error>>();
}
