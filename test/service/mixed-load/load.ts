/**
 * All clients of the mixed load, in a process of their own, so that what they take is not counted
 * for the service, nor what the test does for them.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { obey } from '../../../bench/load/load-process.ts';
import { connect } from '../../../src/client/index.ts';
import { Random } from '../../../src/testing/random.ts';
import { type Arrivals, Driver } from './drive.ts';
import { HttpCaller } from './http-caller.ts';
import { Keeper } from './keeper.ts';
import { Ledger } from './ledger.ts';
import type * as market from './market.ts';
import { type Means, operationsOf } from './operations.ts';
import { zoneCount } from './sizes.ts';
import { V2Caller } from './v2-caller.ts';
import { ZoneWatcher } from './zone-watcher.ts';

export interface Opening {
  readonly url: string;
  readonly port: number;
  readonly database: string;
  /** Of the callers, who are the same all the time. */
  readonly tokens: readonly string[];
  readonly itemCount: number;
  /** Clients that stay subscribed to a zone. */
  readonly watcherCount: number;
  readonly seed: number;
}

/** What was acknowledged, and which clients know it otherwise. */
export interface Settled {
  readonly changes: Uint32Array;
  readonly entries: readonly number[];
  readonly differences: readonly string[];
  readonly failures: Readonly<Record<string, number>>;
  /** Changes of rows that all watchers were told of. */
  readonly told: number;
}

/** Of each kind of connection. */
const callerCount = 4;
const keeperCount = 2;
/** Until all that was acknowledged has reached those who watch. */
const settleMillisMax = 30_000;

const skills = {
  /** Connects those who stay. */
  async open({ url, port, database, tokens, itemCount, watcherCount, seed }: Opening) {
    const random = new Random(seed);
    const callers = Array.from(
      { length: callerCount },
      (_, at) => tokens[at % tokens.length] ?? '',
    );
    means = {
      ...{ url, database, tokens, random },
      http: new HttpCaller(port),
      sockets: await Promise.all(callers.map((token) => V2Caller.open(url, database, token))),
      clients: callers.map((token) => connect<typeof market>({ uri: url, database, token })),
      ledger: new Ledger(itemCount),
      visits: new Set(),
    };
    driver = new Driver(operationsOf(means), random);
    for (let at = 0; at < watcherCount; at += 1) {
      watchers.push(await ZoneWatcher.open(port, database, at % zoneCount));
    }
    for (let at = 0; at < keeperCount; at += 1) {
      keepers.push(await Keeper.open(url, database, at % zoneCount));
    }
    await driver.each();
  },

  /** Gives the answers per second. */
  flood({ inFlight, seconds }: { inFlight: number; seconds: number }): Promise<number> {
    return opened().driver.flood(inFlight, seconds);
  },

  pace({ perSecond, seconds }: { perSecond: number; seconds: number }): Promise<Arrivals> {
    return opened().driver.pace(perSecond, seconds);
  },

  /** Ends the visits, waits until those who stay know of everything, and says who does not. */
  async settle(_: object): Promise<Settled> {
    const { ledger, visits } = opened().means;
    for (const end of visits) await end();
    const deadline = performance.now() + settleMillisMax;
    let differences = differencesFrom(ledger);
    while (differences.length > 0 && performance.now() < deadline) {
      await pause(20);
      differences = differencesFrom(ledger);
    }
    return {
      changes: ledger.changes,
      entries: ledger.entries,
      differences,
      failures: opened().driver.failures,
      told: watchers.reduce((sum, { count }) => sum + count, 0),
    };
  },
};

export type MixedLoad = typeof skills;

let means: Means | undefined;
let driver: Driver | undefined;
const watchers: ZoneWatcher[] = [];
const keepers: Keeper[] = [];

function opened(): { readonly means: Means; readonly driver: Driver } {
  if (means === undefined || driver === undefined) throw new Error('the load is not open yet');
  return { means, driver };
}

function differencesFrom(ledger: Ledger): string[] {
  const ofWatchers = watchers.flatMap(({ zone, count, failure }) => {
    if (failure !== undefined) return [`a client that watches zone ${zone} was lost: ${failure}`];
    const acknowledged = ledger.changesOfZone[zone];
    if (count === acknowledged) return [];
    return [`zone ${zone}: a client was told of ${count} changes of ${acknowledged}`];
  });
  return [...ofWatchers, ...keepers.flatMap((keeper) => keeper.differences(ledger))];
}

obey(skills);
