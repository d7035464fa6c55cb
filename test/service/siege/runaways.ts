import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildModule } from '../../../src/bundle/build-module.ts';
import { killers } from '../../hostile/killers.ts';
import { hostilePrograms, hostileSource } from '../../hostile/programs.ts';
import type { Program } from '../written-module.ts';
import { type Attacker, answerTo, bothModes, strike } from './attacker.ts';

/** A reducer that does not end as it should, and its arguments as JSON. */
interface Runaway {
  readonly database: string;
  readonly program: () => Promise<Program>;
  readonly reducer: string;
  readonly args: string;
}

/** Forms that the engine does not interrupt, or that end its process; compiled, not text. */
function killing(): Runaway[] {
  const databases = new Map<string, string>();
  return killers().map(({ module, reducer, args = [] }) => {
    const database = databases.get(module) ?? `kills-${databases.size}`;
    databases.set(module, database);
    return { database, program: () => killerModule(module), reducer, args: JSON.stringify(args) };
  });
}

async function killerModule(source: string): Promise<Program> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-killer-'));
  try {
    const file = path.join(folder, 'killer.ts');
    writeFileSync(file, source);
    return new Uint8Array((await buildModule(file)).program);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function hostile(name: string): Runaway {
  const program = async () => new Uint8Array((await buildModule(hostileSource(name))).program);
  return { database: `runs-${name}`, program, reducer: 'attack', args: '[]' };
}

const named = (...ends: readonly string[]): Runaway[] =>
  hostilePrograms
    .filter(({ end, name }) => ends.includes(end) && name !== 'log-flood')
    .map(({ name }) => hostile(name));

const overTime = named('overTime', 'crashed', 'returned');
const overMemory = named('overMemory');
const logFlood = [hostile('log-flood')];

/** At most so many of each kind, or all of them. */
export function runaways(countMax = Number.POSITIVE_INFINITY): Attacker[] {
  return [
    calling('runaway calls: time', bothModes, atMost(countMax, overTime)),
    calling('runaway calls: memory', bothModes, atMost(countMax, overMemory)),
    calling('runaway calls: killers', ['process'], atMost(countMax, killing())),
    calling('log floods', bothModes, logFlood),
  ];
}

/** From all over the list, which has one kind after the other. */
function atMost<Item>(countMax: number, list: readonly Item[]): readonly Item[] {
  const step = Math.max(1, Math.ceil(list.length / countMax));
  return list.filter((_, at) => at % step === 0);
}

/** Calls one after the other, and again. */
function calling(name: string, modes: Attacker['modes'], list: readonly Runaway[]): Attacker {
  return {
    name,
    modes,
    atOnce: 1,
    pauseMillis: 300,
    async prepare(field) {
      for (const [database, program] of new Map(list.map((one) => [one.database, one.program]))) {
        const where = `/v1/database/${database}?host_type=Js`;
        const body = await program();
        const given = { method: 'PUT', body, as: field.stranger, millisMax: 60_000 };
        const { status, text } = await answerTo(field, where, given);
        if (status !== '200') throw new Error(`${database}: ${status} ${text}`);
      }
    },
    attack(field, round) {
      const { database, reducer, args } = list[round % list.length] as Runaway;
      const where = `/v1/database/${database}/call/${reducer}`;
      return strike(field, where, { body: args, as: field.stranger });
    },
  };
}
