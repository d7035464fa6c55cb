import {
  type EditedRow,
  effectsOf,
  type History,
  type LedgerEntry,
  silentNotes,
} from './schedule-crash.ts';

/** A row that waits for its time. */
interface Waiting {
  readonly row: EditedRow;
  readonly due: number;
}

const second = 1_000_000;

/**
 * Plays a history again, slowly and obviously, and returns what is wrong with it: a run that was
 * not due, had run before, or came before another that was due earlier; rows that are not as they
 * should be at the end; and due times for which nothing ran.
 */
export function faultsOf(history: History): string[] {
  const model = new ScheduleModel(history);
  for (const [number, entry] of history.ledger.entries()) model.play(entry, number);
  model.end();
  return model.faults;
}

class ScheduleModel {
  readonly faults: string[] = [];
  readonly #history: History;
  readonly #waiting = new Map<string, Waiting>();
  readonly #ran = new Set<string>();
  readonly #openings: number[];
  /** The last opening so far. */
  #openedAt = Number.NEGATIVE_INFINITY;

  constructor(history: History) {
    this.#history = history;
    this.#openings = [...history.openings];
    const { createdMicros, cronSeconds } = history;
    const at = { isInterval: true, micros: cronSeconds * second };
    const row: EditedRow = { table: 'nightly', id: 0, at, note: 'plain' };
    this.#waiting.set('nightly 0', { row, due: tickAfter(0, at.micros, createdMicros) });
  }

  play(entry: LedgerEntry, number: number): void {
    this.#openUntil(entry.micros);
    if (entry.kind === 'run') this.#run(entry);
    for (const row of effectsOf(entry, number)) this.#edit(row, entry);
  }

  end(): void {
    const { endMicros, rows, dues } = this.#history;
    this.#openUntil(endMicros);
    const waiting = [...this.#waiting.values()];
    for (const { row, due } of waiting) {
      if (!isSilent(row) && due <= endMicros) this.#fault(`nothing ran for ${text(row)} at ${due}`);
    }
    const stay = waiting.filter(({ row, due }) => {
      return row.table !== 'nightly' && !(isSilent(row) && !isInterval(row) && due <= endMicros);
    });
    const expected = stay.map(({ row }) => JSON.stringify(row)).sort();
    const found = rows.map((row) => JSON.stringify(row)).sort();
    this.#compare('rows', expected, found);
    const intervals = stay.filter(({ row }) => isInterval(row));
    const silent = new Set(
      intervals.filter(({ row }) => isSilent(row)).map(({ row }) => keyOf(row)),
    );
    this.#compare(
      'due times',
      intervals
        .filter(({ row }) => !isSilent(row))
        .map(({ row, due }) => `${keyOf(row)} ${due}`)
        .sort(),
      dues.filter((one) => !silent.has(one.replace(/ \d+$/, ''))).sort(),
    );
  }

  /** What was missed up to an opening and does not run moves on. */
  #openUntil(micros: number): void {
    while ((this.#openings[0] ?? Number.POSITIVE_INFINITY) <= micros) {
      this.#openedAt = this.#openings.shift() ?? 0;
      for (const [key, { row, due }] of this.#waiting) {
        if (!isInterval(row) || due >= this.#openedAt || this.#catchUp(row) !== 'skip') continue;
        const every = row.at?.micros ?? 0;
        this.#waiting.set(key, { row, due: tickAfter(due, every, this.#openedAt) });
      }
    }
  }

  /** The other table has the default policy. */
  #catchUp({ table }: EditedRow): string {
    return table === 'other' ? 'skip' : this.#history.policy.catchUp;
  }

  #run(run: Extract<LedgerEntry, { kind: 'run' }>): void {
    const { table, id, due, micros } = run;
    const pair = `${table} ${id} ${due}`;
    if (this.#ran.has(pair)) this.#fault(`${pair} ran twice`);
    this.#ran.add(pair);
    const waiting = this.#waiting.get(`${table} ${id}`);
    if (waiting === undefined) {
      this.#fault(`${pair} ran without a row`);
      return;
    }
    const { row } = waiting;
    if (due > micros) this.#fault(`${pair} ran early, at ${micros}`);
    const dueInModel = this.#dueOf(waiting);
    if (due !== dueInModel) this.#fault(`${pair} should have been due at ${dueInModel}`);
    for (const other of this.#waiting.values()) {
      if (!isSilent(other.row) && isBefore(other, waiting)) {
        this.#fault(`${pair} ran before ${text(other.row)}, due at ${other.due}`);
      }
    }
    if (!isInterval(row)) this.#waiting.delete(keyOf(row));
    else this.#waiting.set(keyOf(row), { row, due: this.#nextOf(row, due, micros) });
  }

  #dueOf({ row, due }: Waiting): number {
    const every = row.at?.micros ?? 0;
    const isMissed = isInterval(row) && due < this.#openedAt;
    if (!isMissed || this.#catchUp(row) !== 'once') return due;
    return tickAfter(due, every, this.#openedAt) - every;
  }

  #nextOf(row: EditedRow, due: number, micros: number): number {
    const every = row.at?.micros ?? 0;
    return this.#catchUp(row) === 'all' ? due + every : tickAfter(due, every, micros);
  }

  #edit(row: EditedRow, { micros }: LedgerEntry): void {
    const key = keyOf(row);
    const { at } = row;
    if (at === undefined) {
      this.#waiting.delete(key);
      return;
    }
    const before = this.#waiting.get(key);
    const stays =
      before !== undefined &&
      before.row.at?.isInterval === at.isInterval &&
      before.row.at.micros === at.micros;
    const fresh = at.isInterval ? micros + at.micros : at.micros;
    this.#waiting.set(key, { row, due: stays ? before.due : fresh });
  }

  #compare(what: string, expected: readonly string[], found: readonly string[]): void {
    const missing = expected.filter((one) => !found.includes(one));
    const strange = found.filter((one) => !expected.includes(one));
    if (missing.length > 0) this.#fault(`${what} that should be there: ${missing.join('; ')}`);
    if (strange.length > 0) this.#fault(`${what} that should not be there: ${strange.join('; ')}`);
  }

  #fault(fault: string): void {
    this.faults.push(fault);
  }
}

/** The first of the ticks from `due` on that is after `micros`. */
function tickAfter(due: number, every: number, micros: number): number {
  let tick = due + Math.floor(Math.max(0, micros - due) / every) * every;
  while (tick <= micros) tick += every;
  return tick;
}

function isInterval({ at }: EditedRow): boolean {
  return at?.isInterval === true;
}

function isSilent({ note }: EditedRow): boolean {
  return silentNotes.includes(note);
}

function keyOf({ table, id }: EditedRow): string {
  return `${table} ${id}`;
}

function text(row: EditedRow): string {
  return `${keyOf(row)} (${row.note})`;
}

function isBefore(one: Waiting, other: Waiting): boolean {
  if (one.due !== other.due) return one.due < other.due;
  if (one.row.table !== other.row.table) return one.row.table < other.row.table;
  return one.row.id < other.row.id;
}
