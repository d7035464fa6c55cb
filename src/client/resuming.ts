/**
 * How a client goes on where it was: it tells the server up to which commit it has everything, and
 * gets what it has missed; or it reads its rows again. With what looks after a connection, loaded
 * while the first one is made: nothing of it is needed before that is lost.
 *
 * ```text
 * away ─ begin ─▶ asked ─ its sets go on ─▶ current      away ─ begin ─▶ reading again ─▶ current
 *                 asked ─ they do not ─▶ reading again    any ─ lost ─▶ away
 * ```
 */
import type { MessageArm } from '../protocol/message-parts.ts';
import { encodeResume, type Resumed, type ResumeSet, resumedArm } from '../protocol/v2/resume.ts';
import { type ServerMessage, serverArms } from '../protocol/v2/server-message.ts';
import { resumableProtocol } from '../protocol/versions.ts';
import { hostsToldMax, resumeSetsMax } from '../shared-limits.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import type { ClientSchema } from './client-schema.ts';
import type { ConnectionState } from './connection-state.ts';
import { type Difference, noDifference } from './contents.ts';
import type { Observable } from './observable.ts';
import type { Platform } from './platform.ts';
import type { QuerySet } from './query-set.ts';
import { watchSilence } from './silence.ts';

/** A query set that is asked for, or left. */
export interface SetRequest {
  readonly kind: 'subscribe' | 'unsubscribe';
  readonly set: QuerySet;
}

/** The parts of the client that are needed to go on; `core.ts` is the one implementation. */
export interface ResumingHost {
  readonly link: {
    readonly state: Observable<ConnectionState>;
    readonly isOpen: boolean;
    readonly heardAt: number;
    readonly protocol: string | undefined;
    send(messages: readonly Uint8Array[]): void;
    fail(error: Error, isSilent?: boolean): void;
    /** Ends the wait for the next attempt. */
    retryNow(): void;
  };
  readonly platform: Platform;
  readonly schema: ClientSchema | undefined;
  readonly watcher: { changed(difference: Difference): void } | undefined;
  readonly sets: ReadonlyMap<number, QuerySet>;
  /** Sends what any server answers at once. */
  ping(): void;
  /** Sends what waits, behind `first`. */
  goOn(first: readonly SetRequest[]): void;
  /** Reads the rows of all sets again. */
  beginAgain(): void;
}

export interface ResumingOptions {
  /** Time without traffic after which the server is asked for a sign of life. */
  readonly idleMillis: number;
  /** Its address is replaced when another one is tried. */
  readonly target: { uri: URL };
  /** Addresses of the same database, tried in turn; absent: that of `target`. */
  readonly uris?: readonly URL[] | undefined;
  /** Called when commits that this client had seen are lost. */
  readonly rewound?: (() => void) | undefined;
}

export class Resuming {
  /** All messages. What only this part of the client asks for is taken where it is read. */
  readonly arms: readonly MessageArm<ServerMessage | Resumed>[];
  readonly #core: ResumingHost;
  readonly #options: ResumingOptions;
  /** The addresses of the program. */
  readonly #given: readonly URL[];
  /** Addresses, the one in use first; tried in turn. */
  #uris: readonly URL[];
  #history = 0n;
  /** The schema of the shown rows. */
  #schema: ClientSchema | undefined;
  /** The commit that the shown rows are of; `undefined` between two, and when it is not known. */
  #offset: bigint | undefined;
  /** The sets of which the server is asked; until it has answered nothing else is sent. */
  #asked: readonly QuerySet[] = [];
  #state: State;
  #seen: ConnectionState | undefined;
  /** Whether this connection was asked for its history. */
  #isGreeted = false;
  #isRewound = false;
  #cancelWatch = () => {};

  /** `isCurrent`: messages change the shown rows already. */
  constructor(core: ResumingHost, options: ResumingOptions, isCurrent: boolean) {
    this.#state = isCurrent ? 'current' : 'away';
    const read = (reader: BinaryReader): Resumed => {
      const message = resumedArm.read(reader);
      this.#answered(message);
      return message;
    };
    this.arms = [...serverArms, { name: resumedArm.name, read }];
    this.#core = core;
    this.#options = options;
    const { target, uris = [target.uri] } = options;
    this.#given = uris;
    this.#schema = core.schema;
    this.#uris = uris;
    core.link.state.subscribe(() => this.#changed());
    this.#watch();
    // A connection that is open already, and has begun, is asked where it is.
    if (isCurrent && this.#isOurs) this.#greet([]);
  }

  /** Whether frames tell an offset, and the server takes `Resume`. */
  get #isOurs(): boolean {
    return this.#core.link.protocol === resumableProtocol;
  }

  /** Called before each frame, without it, and after it. */
  reached(frame: Uint8Array | undefined): void {
    if (this.#state !== 'current' || !this.#isOurs) return;
    this.#offset = frame && new BinaryReader(frame).u64();
    if (!this.#isGreeted) this.#greet([]);
  }

  /**
   * A connection can be used. True: the server is asked whether the sets that have rows go on, and
   * until it has answered nothing else is sent.
   */
  begin(schema: ClientSchema): boolean {
    const { sets } = this.#core;
    const applied = [...sets.values()].filter(({ wasApplied }) => wasApplied);
    const isSame = schema === this.#schema;
    this.#schema = schema;
    const isKnown = isSame && this.#offset !== undefined && this.#isOurs;
    this.#asked = isKnown && applied.length <= resumeSetsMax ? applied : [];
    if (this.#isOurs) this.#greet(this.#asked.map((set) => namedSet(set, schema)));
    if (this.#asked.length > 0) return true;
    this.#reads();
    return false;
  }

  #changed(): void {
    const state = this.#core.link.state.get();
    const { kind } = state;
    // A listener of the program may have gone on to the next state before.
    if (state === this.#seen) return;
    this.#seen = state;
    this.#watch();
    if (kind === 'live') return;
    // Sets may have ended whose rows are shown still.
    if (this.#state === 'reading') this.#offset = undefined;
    this.#state = 'away';
    this.#asked = [];
    this.#isGreeted = false;
    if (kind !== 'connecting') return;
    const [used, ...others] = this.#uris;
    if (used !== undefined) this.#uris = [...others, used];
    this.#options.target.uri = this.#uris[0] as URL;
  }

  /**
   * Looks after the connection while there is one, or is to be. Each address is tried once before
   * the delay grows.
   */
  #watch(): void {
    const { link, platform } = this.#core;
    const state = link.state.get();
    const { kind } = state;
    this.#cancelWatch();
    if (kind === 'waiting' && !state.offline && state.attempt % this.#uris.length > 0) {
      const millis = Math.min(nextMillis, state.retryAt - platform.now());
      this.#cancelWatch = platform.after(millis, () => link.retryNow());
    }
    // Where there is no other address, nothing is done about one that does not answer.
    if (kind !== 'live' && (kind !== 'connecting' || this.#uris.length < 2)) return;
    const { idleMillis } = this.#options;
    this.#cancelWatch = watchSilence(this.#core, { idleMillis, openMillis });
  }

  #answered({ outcome, history, hosts }: Resumed): void {
    const core = this.#core;
    const asked = this.#asked;
    this.#asked = [];
    this.#history = history;
    this.#learn(hosts);
    if (asked.length === 0) return;
    this.#isRewound ||= outcome === 2;
    if (outcome !== 0) {
      this.#reads();
      core.beginAgain();
      return;
    }
    this.#offset = undefined;
    this.#state = 'current';
    const first: SetRequest[] = [];
    for (const set of asked) {
      if (set.status === 'ended') first.push({ kind: 'unsubscribe', set });
      else set.status = 'applied';
    }
    // Those that never had rows.
    for (const set of core.sets.values()) {
      if (set.status === 'asked') first.push({ kind: 'subscribe', set });
    }
    core.goOn(first);
    // They are not stale any more.
    const sets = new Map(asked.map(({ id }) => [id, undefined]));
    core.watcher?.changed({ ...noDifference, sets });
  }

  /** The rows that were read again are shown; the difference is reported at once. */
  shown(): void {
    this.#state = 'current';
    this.#offset = undefined;
    if (!this.#isRewound) return;
    this.#isRewound = false;
    const { rewound } = this.#options;
    Promise.resolve()
      .then(() => rewound?.())
      .catch(this.#core.platform.report);
  }

  /** The rows of all sets are read again; without sets there is nothing to read. */
  #reads(): void {
    this.#offset = undefined;
    this.#state = this.#core.sets.size === 0 ? 'current' : 'reading';
  }

  #greet(sets: readonly ResumeSet[]): void {
    const { link } = this.#core;
    this.#isGreeted = true;
    // The answer is known without a number.
    const requestId = 0;
    const history = this.#history;
    const offset = this.#offset ?? 0n;
    link.send([encodeResume({ kind: 'resume', requestId, history, offset, sets })]);
  }

  /** Adds addresses for when the host is lost; none that is less secure than the one in use. */
  #learn(hosts: readonly string[]): void {
    const { uri } = this.#options.target;
    const given = this.#given;
    const told = hosts.slice(0, hostsToldMax).flatMap(parsed);
    const fit = told.filter((each) => isSecure(each) || !isSecure(uri));
    // The one in use is the last to be tried again; the order of the others stays.
    const at = given.findIndex(({ host }) => host === uri.host);
    const all = [uri, ...given.slice(at + 1), ...fit, ...given.slice(0, Math.max(at, 0))];
    const byHost = new Map<string, URL>();
    for (const each of all) if (!byHost.has(each.host)) byHost.set(each.host, each);
    this.#uris = [...byHost.values()];
  }
}

/** Messages change the shown rows, or others are read meanwhile, or none come. */
type State = 'away' | 'reading' | 'current';

function namedSet({ id: querySetId, queries }: QuerySet, schema: ClientSchema): ResumeSet {
  return { querySetId, queries: queries(schema) };
}

/** The delay before the next address is tried. */
const nextMillis = 250;
/** Time for a host to take a connection, where there are others. */
const openMillis = 5_000;

/** None for what is no address. */
function parsed(address: string): readonly URL[] {
  try {
    return [new URL(address)];
  } catch {
    return [];
  }
}

function isSecure({ protocol }: URL): boolean {
  return protocol === 'wss:' || protocol === 'https:';
}
