import { buildModule } from '../../../src/bundle/build-module.ts';
import { hostilePrograms, hostileSource } from '../../hostile/programs.ts';
import { type Program, written } from '../written-module.ts';
import { type Attacker, answerTo, bothModes, strike } from './attacker.ts';

/** A module whose reducer `attack` does not end as it should. */
interface Runaway {
  readonly database: string;
  readonly program: () => Promise<Program>;
}

/** Operations that the engine does not interrupt, or that end its process; compiled, not text. */
const killers: Readonly<Record<string, string>> = {
  shifts: `const s = 2n ** 29n; kept = [${'(1n << s),'.repeat(80)}];`,
  powers: `kept = [${'(2n ** 1000000000n),'.repeat(8)}];`,
  arrays: `kept = [${'new Array(33554432),'.repeat(24)}];`,
  keys: 'for (const key in new Uint8Array(6e7)) kept = key;',
  spread: 'kept = { ...new Uint8Array(6e7) };',
  letters: "kept = { ...'x'.repeat(3e7) };",
  pattern: `kept = new RegExp(Array.from({ length: 1e6 }, (_, n) => 'a' + n).join('|')).test('b');`,
};

function killerModule(code: string): Promise<Program> {
  return written({
    tables: { note: '{ public: true }, { id: t.u32().primaryKey().autoInc(), text: t.string() }' },
    before: 'let kept: unknown;',
    exports: `export const attack = db.reducer((ctx) => {
      ctx.db.note.insert({ id: 0, text: 'never to be seen' });
      ${code}
      if (kept === 'never') ctx.db.note.insert({ id: 0, text: 'kept' });
    });`,
  });
}

function hostileModule(name: string): () => Promise<Program> {
  return async () => new Uint8Array((await buildModule(hostileSource(name))).program);
}

const named = (...ends: readonly string[]): Runaway[] =>
  hostilePrograms
    .filter(({ end, name }) => ends.includes(end) && name !== 'log-flood')
    .map(({ name }) => ({ database: `runs-${name}`, program: hostileModule(name) }));

const overTime = named('overTime', 'crashed', 'returned');
const overMemory = named('overMemory');
const logFlood = [{ database: 'runs-log-flood', program: hostileModule('log-flood') }];
const killing = Object.entries(killers).map(([name, code]) => ({
  database: `kills-${name}`,
  program: () => killerModule(code),
}));

/** At most so many of each kind, or all of them. */
export function runaways(countMax = Number.POSITIVE_INFINITY): Attacker[] {
  return [
    calling('runaway calls: time', bothModes, overTime.slice(0, countMax)),
    calling('runaway calls: memory', bothModes, overMemory.slice(0, countMax)),
    calling('runaway calls: killers', ['process'], killing.slice(0, countMax)),
    calling('log floods', bothModes, logFlood),
  ];
}

/** Calls one after the other, and again. */
function calling(name: string, modes: Attacker['modes'], list: readonly Runaway[]): Attacker {
  return {
    name,
    modes,
    atOnce: 1,
    pauseMillis: 300,
    async prepare(field) {
      for (const { database, program } of list) {
        const path = `/v1/database/${database}?host_type=Js`;
        const body = await program();
        const given = { method: 'PUT', body, as: field.stranger, millisMax: 60_000 };
        const { status, text } = await answerTo(field, path, given);
        if (status !== '200') throw new Error(`${database}: ${status} ${text}`);
      }
    },
    attack(field, round) {
      const { database } = list[round % list.length] as Runaway;
      const where = `/v1/database/${database}/call/attack`;
      return strike(field, where, { body: '[]', as: field.stranger });
    },
  };
}
