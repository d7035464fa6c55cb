import type { ReplicationControl } from '../host/databases/replication-control.ts';
import type { CopyTimes, CopyWait } from '../host/replication/copy-times.ts';
import type { DatabaseRole, FollowerRole } from '../host/replication/database-role.ts';
import { tooManyReads } from '../host/replication/leader-refusals.ts';
import { limits } from '../limits.ts';
import { decodeEntry } from '../shared-log/entry.ts';
import { type BootId, bootId } from '../shared-log/host-ids.ts';
import { type ClusterId, type LogName, logName } from '../shared-log/log-name.ts';
import type { SharedLog } from '../shared-log/shared-log.ts';
import { bigintToHex } from '../values/hex.ts';
import { identityToHex } from '../values/identity.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { LeadProofs } from './lead-proofs.ts';
import { SharedPlaces, sharersOf } from './shared-places.ts';

export interface CopyLineOptions {
  readonly boot: BootId;
  readonly now: () => number;
  readonly ask: (
    address: string,
    path: string,
    ask: { readonly body?: Uint8Array; readonly millisMax: number },
  ) => Promise<unknown>;
  readonly roleOf: (database: DatabaseIdentity) => DatabaseRole | undefined;
  readonly cluster: ClusterId;
  readonly sharedLog: SharedLog;
  readonly proofs: LeadProofs;
  /** The shared log of a database, once this host has read it. */
  readonly logOf: (database: DatabaseIdentity) => LogName | undefined;
}

export type HostedCopies = Pick<ReplicationControl, 'noteSettled' | 'stateOf' | 'wake'>;

/** All that was acknowledged before `at`, by this host's clock, is in commits up to `offset`. */
interface Anchor {
  readonly offset: number;
  readonly at: number;
}

interface Followed {
  settled: number;
  /** In the order of both. */
  anchors: Anchor[];
  asking: Promise<boolean> | undefined;
  readonly waiting: Set<() => void>;
  /** Reads that wait for a commit, or have waited in vain and are not answered yet. */
  readonly readers: SharedPlaces;
  /** When somebody wanted to know it last. */
  wantedAt: number;
}

/** Of databases that are asked for at one moment. */
interface Question {
  readonly databases: DatabaseIdentity[];
  readonly answer: Promise<readonly (SettledAnswer | undefined)[]>;
}

/**
 * What hosts ask each other about copies: how far the leader of a database is, and since when it
 * knows that it leads. Where the leader does not answer, the engine says whether what this host has
 * read is all that there is. Nothing is asked unless somebody reads copies.
 */
export class CopyLine implements CopyTimes {
  readonly #options: CopyLineOptions;
  readonly #followed = new Map<DatabaseIdentity, Followed>();
  /** The next question to each leader, by its address. */
  readonly #gathered = new Map<string, Question>();
  #copies: HostedCopies | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CopyLineOptions) {
    this.#options = options;
  }

  attach(copies: HostedCopies): void {
    this.#copies = copies;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** This host's part in a database has changed, or it has read on. */
  changed(database: DatabaseIdentity, role: DatabaseRole): void {
    const known = this.#followed.get(database);
    if (known === undefined) return;
    if (role.kind === 'follower') known.settled = Math.max(known.settled, role.settledOffset);
    // Somebody reads: what is here, and may still be lost, is asked about at once.
    const isBehind = role.kind === 'follower' && role.end.offset > known.settled;
    if (isBehind && this.#follower(database) !== undefined) void this.#ask(database, known);
    for (const wake of [...known.waiting]) wake();
  }

  settledOffset(database: DatabaseIdentity): number {
    const follower = this.#follower(database);
    if (follower === undefined) return 0;
    const { end, settledOffset, shownOffset = end.offset } = follower;
    const settled = Math.max(settledOffset, this.#followed.get(database)?.settled ?? 0);
    return Math.min(settled, end.offset, shownOffset);
  }

  async untilSettled(
    database: DatabaseIdentity,
    offset: number,
    { millisMax, payers, answered }: CopyWait,
  ): Promise<boolean> {
    const known = this.#wanted(database);
    if (this.#has(database, offset)) return true;
    const sharers = payers === undefined ? {} : sharersOf(payers);
    const full = known.readers.fullFor(sharers);
    if (full !== undefined) throw tooManyReads(full);
    known.readers.count(sharers, 1);
    const isSettled = await this.#untilSettled(database, known, { offset, millisMax });
    const leave = (): void => known.readers.count(sharers, -1);
    if (isSettled || answered === undefined) leave();
    else void answered.then(leave, leave);
    return isSettled;
  }

  async #untilSettled(
    database: DatabaseIdentity,
    known: Followed,
    { offset, millisMax }: { readonly offset: number; readonly millisMax: number },
  ): Promise<boolean> {
    const until = this.#options.now() + millisMax;
    for (let isFirst = true; !this.#has(database, offset); isFirst = false) {
      const left = until - this.#options.now();
      if (left <= 0) return false;
      if (isFirst) this.#copies?.wake(database);
      if ((this.#follower(database)?.end.offset ?? 0) >= offset) void this.#ask(database, known);
      await changeWithin(known, Math.min(left, limits.copyAskPauseMillis));
    }
    return true;
  }

  ageMillis(database: DatabaseIdentity, offset: number): number | undefined {
    const known = this.#wanted(database);
    const anchor = known.anchors.findLast((one) => one.offset <= offset);
    return anchor && Math.max(0, this.#options.now() - anchor.at);
  }

  ask(database: DatabaseIdentity): Promise<boolean> {
    return this.#ask(database, this.#wanted(database));
  }

  #ask(database: DatabaseIdentity, known: Followed): Promise<boolean> {
    known.asking ??= this.#askOnce(database, known).finally(() => {
      known.asking = undefined;
    });
    return known.asking;
  }

  /** What this host answers; `undefined`: that is not about copies. */
  answer(path: string, body: Uint8Array): Promise<unknown> | undefined {
    return path === askPath ? this.#answer(body) : undefined;
  }

  #wanted(database: DatabaseIdentity): Followed {
    const now = this.#options.now();
    let known = this.#followed.get(database);
    if (known === undefined) {
      const settled = this.#follower(database)?.settledOffset ?? 0;
      known = {
        settled,
        anchors: [],
        asking: undefined,
        waiting: new Set(),
        readers: new SharedPlaces(limits.copyWaitersMax, waiterShares),
        wantedAt: now,
      };
      this.#followed.set(database, known);
      void this.#ask(database, known);
    }
    known.wantedAt = now;
    this.#timer ??= setInterval(() => this.#askAgain(), limits.copyAskMillis).unref();
    return known;
  }

  /** What nobody has read for a while is not asked for any more. */
  #askAgain(): void {
    const now = this.#options.now();
    for (const [database, known] of this.#followed) {
      const isWanted = known.readers.taken > 0 || now - known.wantedAt <= limits.copyWantedMillis;
      const isHere = isWanted && this.#follower(database) !== undefined;
      if (isHere) void this.#ask(database, known);
      else this.#followed.delete(database);
    }
    if (this.#followed.size === 0) this.stop();
  }

  #follower(database: DatabaseIdentity): FollowerRole | undefined {
    const role = this.#options.roleOf(database);
    return role?.kind === 'follower' && role.isLedElsewhere ? role : undefined;
  }

  #has(database: DatabaseIdentity, offset: number): boolean {
    const { end, shownOffset } = this.#follower(database) ?? { end: { offset: -1 } };
    if ((shownOffset ?? end.offset) < offset) return false;
    return end.offset >= offset && (this.#followed.get(database)?.settled ?? -1) >= offset;
  }

  async #askOnce(database: DatabaseIdentity, known: Followed): Promise<boolean> {
    if (await this.#askLeader(database, known).catch(() => false)) return true;
    return this.#askEngine(database, known).catch(() => false);
  }

  async #askLeader(database: DatabaseIdentity, known: Followed): Promise<boolean> {
    const address = this.#follower(database)?.leader?.address;
    if (address === undefined) return false;
    const { now } = this.#options;
    const askedAt = now();
    const note = await this.#askWithOthers(address, database);
    if (note === undefined) return false;
    const { term, boot, offset, sinceMillis } = note;
    // Of another term it says nothing about what this host has.
    const role = this.#follower(database);
    if (role?.term !== term || role.leader?.boot !== boot) return false;
    this.#copies?.noteSettled(database, { term, boot, offset });
    this.#settled(known, offset);
    if (sinceMillis !== undefined) this.#anchored(known, { offset, at: askedAt - sinceMillis });
    return true;
  }

  #askWithOthers(address: string, database: DatabaseIdentity): Promise<SettledAnswer | undefined> {
    let question = this.#gathered.get(address);
    if (question === undefined || question.databases.length >= limits.copyAskDatabasesMax) {
      const databases: DatabaseIdentity[] = [];
      question = { databases, answer: this.#send(address, databases) };
      this.#gathered.set(address, question);
    }
    const at = question.databases.push(database) - 1;
    return question.answer.then((answers) => answers[at]);
  }

  async #send(address: string, databases: readonly DatabaseIdentity[]) {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#gathered.get(address)?.databases === databases) this.#gathered.delete(address);
    const asked = { body: questionOf(databases), millisMax: limits.copyAnswerMillisMax };
    return settledIn(await this.#options.ask(address, askPath, asked));
  }

  /** True if the engine says that there is nothing behind what this host has read. */
  async #askEngine(database: DatabaseIdentity, known: Followed): Promise<boolean> {
    const { now, sharedLog, logOf } = this.#options;
    const role = this.#follower(database);
    const log = logOf(database);
    if (role?.leader === undefined || log === undefined || role.seq < 0) return false;
    const { seq, term, end, leader } = role;
    const askedAt = now();
    const asked = sharedLog.confirm([{ log, seq }]);
    const [result] = await Promise.race([asked, lateAnswer()]);
    if (result === 'passed') this.#copies?.wake(database);
    if (result !== 'last') return false;
    // The entry can be another than the one that was read, which the engine may have dropped.
    const { entries } = await sharedLog.read(log, seq, limits.sharedReadBytesMax, 1);
    const reading = entries[0] && decodeEntry(entries[0].bytes);
    if (reading?.kind !== 'valid') return false;
    const { chainAfter, offset } = reading.entry;
    if (chainAfter !== end.chain || offset !== end.offset) return false;
    this.#copies?.noteSettled(database, { term, boot: leader.boot, offset });
    this.#settled(known, offset);
    this.#anchored(known, { offset, at: askedAt });
    return true;
  }

  #settled(known: Followed, offset: number): void {
    known.settled = Math.max(known.settled, offset);
    for (const wake of [...known.waiting]) wake();
  }

  #anchored(known: Followed, anchor: Anchor): void {
    const last = known.anchors.at(-1);
    if (last !== undefined && (last.at >= anchor.at || last.offset > anchor.offset)) return;
    known.anchors = known.anchors.filter(({ offset }) => offset < anchor.offset);
    known.anchors.push(anchor);
    if (known.anchors.length > limits.copyAnchorsMax) known.anchors.shift();
  }

  async #answer(body: Uint8Array): Promise<unknown> {
    const hexes = databasesIn(body);
    const { cluster, boot, sharedLog, proofs } = this.#options;
    const led = (hex: string) => {
      const state = this.#copies?.stateOf(databaseIdentity(BigInt(`0x${hex}`)));
      return state?.role === 'leader' ? state : undefined;
    };
    const logs = hexes.map((hex) => {
      const generation = led(hex)?.generation;
      if (generation === undefined) return undefined;
      return logName(cluster, databaseIdentity(BigInt(`0x${hex}`)), generation);
    });
    await proofs.renew(
      logs.filter((log) => log !== undefined),
      sharedLog,
    );
    return {
      settled: hexes.map((hex, which) => {
        const log = logs[which];
        // When it was proved is read first: what is acknowledged since does no harm.
        const sinceMillis = log && proofs.ageMillis(log);
        const { term, acknowledgedOffset: offset } = led(hex) ?? {};
        if (offset === undefined) return null;
        return { term, boot: bigintToHex(boot, 32), offset, sinceMillis };
      }),
    };
  }
}

const waiterShares = {
  caller: limits.copyWaitersCallerShare,
  network: limits.copyWaitersNetworkShare,
};

const askPath = 'settled';

function questionOf(databases: readonly DatabaseIdentity[]): Uint8Array {
  const json = JSON.stringify({ databases: databases.map((one) => identityToHex(one)) });
  return Buffer.from(json, 'utf8');
}

function databasesIn(body: Uint8Array): readonly string[] {
  const { databases } = JSON.parse(Buffer.from(body).toString('utf8')) as { databases?: unknown };
  const isList = Array.isArray(databases) && databases.length <= limits.copyAskDatabasesMax;
  if (!isList || !databases.every((one) => /^[0-9a-f]{64}$/.test(String(one)))) {
    throw new Error('this asks for no databases');
  }
  return databases.map(String);
}

interface SettledAnswer {
  readonly term: number;
  readonly boot: BootId;
  readonly offset: number;
  readonly sinceMillis: number | undefined;
}

function settledIn(answer: unknown): readonly (SettledAnswer | undefined)[] {
  const { settled } = answer as { settled?: unknown };
  return (Array.isArray(settled) ? settled : []).map((one: unknown) => {
    const { term, boot, offset, sinceMillis } = (one ?? {}) as Readonly<Record<string, unknown>>;
    const isRight = Number.isSafeInteger(term) && Number.isSafeInteger(offset);
    if (!isRight || typeof boot !== 'string' || !/^[0-9a-f]{32}$/.test(boot)) return undefined;
    return {
      ...{ term: Number(term), offset: Number(offset), boot: bootId(BigInt(`0x${boot}`)) },
      sinceMillis: typeof sinceMillis === 'number' ? sinceMillis : undefined,
    };
  });
}

function lateAnswer(): Promise<readonly ['unknown']> {
  return new Promise((resolve) => {
    setTimeout(resolve, limits.copyAnswerMillisMax, ['unknown'] as const).unref();
  });
}

async function changeWithin({ waiting }: Followed, millis: number): Promise<void> {
  let wake: () => void = () => undefined;
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    wake = resolve;
    waiting.add(wake);
    timer = setTimeout(resolve, millis);
  });
  waiting.delete(wake);
  clearTimeout(timer);
}
