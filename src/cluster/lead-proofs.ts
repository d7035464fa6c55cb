import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { databaseDigits, type LogName } from '../shared-log/log-name.ts';
import { ReadProofs } from '../shared-log/read-proofs.ts';
import {
  type AppendItem,
  type AppendResult,
  type ConfirmResult,
  EngineError,
  type SharedLog,
} from '../shared-log/shared-log.ts';

/** That this host led a log: the entry that it stored last, or was last, and when it asked. */
interface Proof {
  readonly log: LogName;
  readonly seq: number;
  readonly at: number;
}

/**
 * When this host had proof that it led each of its databases: its last append that was stored, or a
 * confirmation, counted from their start.
 */
export class LeadProofs {
  readonly #now: () => number;
  readonly #proofs = new Map<string, Proof>();
  /** Reads of each database that wait for a proof. */
  readonly #reads = new Map<string, ReadProofs>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Appends begin; the answer is to be called with what came of them. */
  appending(items: readonly AppendItem[]): (results: readonly AppendResult[]) => void {
    const at = this.#now();
    const proving = items.map(({ log }) => this.#reads.get(databaseDigits(log))?.append());
    return (results) => {
      items.forEach(({ log, seq }, which) => {
        if (results[which] !== 'stored') return;
        this.#note({ log, seq, at });
        proving[which]?.();
      });
    };
  }

  /** The log is gone; the next generation of its database may be led already. */
  removed(log: LogName): void {
    const database = databaseDigits(log);
    if (this.#proofs.get(database)?.log === log) this.#proofs.delete(database);
  }

  /** Asks the engine for what is older than a moment, for so long as others wait. */
  async renew(databases: readonly string[], sharedLog: SharedLog): Promise<void> {
    const at = this.#now();
    const old = databases.flatMap((database) => {
      const proof = this.#proofs.get(database);
      return proof !== undefined && at - proof.at > limits.copyFreshMillis ? [proof] : [];
    });
    if (old.length === 0) return;
    const asked = sharedLog.confirm(old.map(({ log, seq }) => ({ log, seq })));
    const noted = asked.then((results) => {
      old.forEach(({ log, seq }, which) => {
        if (results[which] === 'last') this.#note({ log, seq, at });
      });
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limits.copyProofMillisMax);
    });
    await Promise.race([noted, late]);
    clearTimeout(timer);
  }

  /**
   * True once it is proved that this host led a database at a moment after the call; false if that
   * cannot be had, because another host leads, or the engine does not say.
   */
  async prove(database: string, sharedLog: SharedLog): Promise<boolean> {
    if (!this.#proofs.has(database)) return false;
    const reads = this.#reads.get(database) ?? this.#readsOf(database, sharedLog);
    this.#reads.set(database, reads);
    const late = setTimeout(() => {
      if (this.#reads.get(database) === reads) this.#reads.delete(database);
      reads.end(new EngineError('nothing proves that this host leads'));
    }, limits.leadProofMillisMax);
    try {
      await reads.wait();
      return true;
    } catch {
      return false;
    } finally {
      clearTimeout(late);
    }
  }

  #readsOf(database: string, sharedLog: SharedLog): ReadProofs {
    return new ReadProofs({
      confirm: () => this.#confirm(database, sharedLog),
      // An append that is on its way may have come before a confirmation, and is the next proof.
      pause: (millis) => pause(Math.min(millis, limits.leadProofPauseMillis)),
      onPassed: () => undefined,
    });
  }

  async #confirm(database: string, sharedLog: SharedLog): Promise<ConfirmResult> {
    const proof = this.#proofs.get(database);
    if (proof === undefined) return 'unknown';
    const { log, seq } = proof;
    const at = this.#now();
    const [result = 'unknown'] = await sharedLog.confirm([{ log, seq }]);
    if (result === 'last') this.#note({ log, seq, at });
    return result;
  }

  /** Time since it was proved; `undefined`: it never was. */
  ageMillis(database: string): number | undefined {
    const proof = this.#proofs.get(database);
    return proof && this.#now() - proof.at;
  }

  #note(proof: Proof): void {
    const database = databaseDigits(proof.log);
    const known = this.#proofs.get(database);
    if (known === undefined || known.seq <= proof.seq || known.log !== proof.log) {
      this.#proofs.set(database, proof);
    }
  }
}
