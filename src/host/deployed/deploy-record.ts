import {
  list,
  nullable,
  number,
  object,
  parseAs,
  type Shaped,
  string,
  word,
} from '../../values/json-shape.ts';
import {
  type Deploy,
  followedBy,
  type NextDeploy,
  type RunningProgram,
  reconciled,
} from './deploy.ts';

/** What `deploys.json` says: `docs/format/data-folder.md` is normative. */
export interface DeploysRecord {
  /** Oldest first. */
  readonly deploys: readonly Deploy[];
  /** The one that was begun last; `undefined`: its outcome is among `deploys`. */
  readonly next: NextDeploy | undefined;
}

const canary = object({
  seconds: number,
  state: word('watched', 'passed', 'rolled-back', 'ended', 'stuck'),
  reason: string,
  before: object({ calls: number, failed: number, p99Millis: number }),
});

const begun = {
  kind: word('created', 'updated', 'reset', 'rolled-back', 'restored', 'found'),
  micros: nullable(number),
  by: nullable(string),
  program: string,
  generation: number,
  plan: string,
  migrations: list(string),
  message: string,
  static: nullable(string),
  of: nullable(number),
  canary: nullable(canary),
};

const begunShape = object(begun);

const recordShape = object({
  format: word('deploys-1'),
  deploys: list(object({ ...begun, number, commit: number })),
  next: nullable(begunShape),
});

export function encodeDeploys({ deploys, next }: DeploysRecord): string {
  const written = deploys.map((one) => {
    return { number: one.number, commit: one.commit, ...jsonOf(one) };
  });
  const begun = next === undefined ? null : jsonOf(next);
  return JSON.stringify({ format: 'deploys-1', deploys: written, next: begun });
}

/** Throws `JsonError` for other texts. */
export function decodeDeploys(text: string): DeploysRecord {
  const { deploys, next } = parseAs(text, recordShape);
  return {
    deploys: deploys.map((one) => ({ number: one.number, commit: one.commit, ...deployOf(one) })),
    next: next === null ? undefined : deployOf(next),
  };
}

function jsonOf(one: NextDeploy): Shaped<typeof begunShape> {
  const { kind, micros, by, program, generation, plan, migrations, message } = one;
  return {
    ...{ kind, program, generation, plan, migrations, message },
    micros: micros ?? null,
    by: by ?? null,
    static: one.staticSet ?? null,
    of: one.of ?? null,
    canary: one.canary ?? null,
  };
}

function deployOf(one: Shaped<typeof begunShape>): NextDeploy {
  const { kind, micros, by, program, generation, plan, migrations, message } = one;
  return {
    ...{ kind, program, generation, plan, migrations, message },
    micros: micros ?? undefined,
    by: by ?? undefined,
    staticSet: one.static ?? undefined,
    of: one.of ?? undefined,
    canary: one.canary ?? undefined,
  };
}

/** What a record says of a database that runs this program. */
export function settledBy(
  record: DeploysRecord,
  running: RunningProgram,
  generation: number,
): readonly Deploy[] {
  return reconciled(withBegun(record, running, generation), running, generation);
}

/** What was begun has happened if its program runs, in its generation. */
function withBegun(
  { deploys, next }: DeploysRecord,
  { program, commit }: RunningProgram,
  generation: number,
): readonly Deploy[] {
  if (next === undefined || next.generation !== generation) return deploys;
  if (next.program !== program) return deploys;
  const number = (deploys.at(-1)?.number ?? 0) + 1;
  return followedBy(deploys, { ...next, number, commit });
}
