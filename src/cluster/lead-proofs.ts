import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../limits.ts';
import type { LogName } from '../shared-log/log-name.ts';
import { ReadLease } from '../shared-log/read-lease.ts';
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
  readonly seq: number;
  readonly at: number;
}

/**
 * When this host had proof that it led a database, by the log of each generation: its last append
 * that was stored, or a confirmation, counted from their start. A generation that is made has a log
 * beside that of the one that counts.
 */
export class LeadProofs {
  readonly #now: () => number;
  readonly #proofs = new Map<LogName, Proof>();
  /** Reads that wait for a proof. */
  readonly #reads = new Map<LogName, ReadProofs>();
  /** How long reads need no proof; none where reads ask the engine. */
  readonly #leases = new Map<LogName, ReadLease>();
  readonly #leaseMillis: number | undefined;

  /** `leaseMillis`: the lease of a cluster whose leaders answer reads within it. */
  constructor(now: () => number, leaseMillis?: number) {
    this.#now = now;
    this.#leaseMillis = leaseMillis;
  }

  /** Appends begin; the answer is to be called with what came of them. */
  appending(items: readonly AppendItem[]): (results: readonly AppendResult[]) => void {
    const at = this.#now();
    const proving = items.map(({ log }) => this.#reads.get(log)?.append());
    const leases = items.map(({ log }) => this.#leaseOf(log));
    items.forEach((item, which) => void leases[which]?.appending(item, at));
    return (results) => {
      items.forEach(({ log, seq }, which) => {
        if (results[which] !== 'stored') return;
        this.#note(log, { seq, at });
        leases[which]?.stored(seq);
        proving[which]?.();
      });
    };
  }

  removed(log: LogName): void {
    this.#proofs.delete(log);
    this.#reads.delete(log);
    this.#leases.delete(log);
  }

  #leaseOf(log: LogName): ReadLease | undefined {
    if (this.#leaseMillis === undefined) return undefined;
    const lease = this.#leases.get(log) ?? new ReadLease(this.#leaseMillis);
    this.#leases.set(log, lease);
    return lease;
  }

  /** Asks the engine for what is older than a moment, for so long as others wait. */
  async renew(logs: readonly LogName[], sharedLog: SharedLog): Promise<void> {
    const at = this.#now();
    const old = logs.flatMap((log) => {
      const proof = this.#proofs.get(log);
      const isOld = proof !== undefined && at - proof.at > limits.copyFreshMillis;
      return isOld ? [{ log, seq: proof.seq }] : [];
    });
    if (old.length === 0) return;
    const asked = sharedLog.confirm(old);
    const noted = asked.then((results) => {
      old.forEach(({ log, seq }, which) => {
        if (results[which] === 'last') this.#note(log, { seq, at });
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
   * True once a read that has ended may be let out: at once within a lease, else as `prove` says.
   * `renew` has the leader append something, from which a lease begins.
   */
  async proveRead(log: LogName, sharedLog: SharedLog, renew: () => void): Promise<boolean> {
    const lease = this.#leases.get(log);
    const now = this.#now();
    if (lease?.wantsAppend(now) === true) renew();
    return lease?.holds(now) === true || this.prove(log, sharedLog);
  }

  /**
   * True once it is proved that this host led a log at a moment after the call; false if that
   * cannot be had, because another host leads, or the engine does not say.
   */
  async prove(log: LogName, sharedLog: SharedLog): Promise<boolean> {
    if (!this.#proofs.has(log)) return false;
    const reads = this.#reads.get(log) ?? this.#readsOf(log, sharedLog);
    this.#reads.set(log, reads);
    const late = setTimeout(() => {
      if (this.#reads.get(log) === reads) this.#reads.delete(log);
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

  #readsOf(log: LogName, sharedLog: SharedLog): ReadProofs {
    return new ReadProofs({
      confirm: () => this.#confirm(log, sharedLog),
      // An append that is on its way may have come before a confirmation, and is the next proof.
      pause: (millis) => pause(Math.min(millis, limits.leadProofPauseMillis)),
      onPassed: () => undefined,
    });
  }

  async #confirm(log: LogName, sharedLog: SharedLog): Promise<ConfirmResult> {
    const proof = this.#proofs.get(log);
    if (proof === undefined) return 'unknown';
    const { seq } = proof;
    const at = this.#now();
    const [result = 'unknown'] = await sharedLog.confirm([{ log, seq }]);
    if (result === 'last') this.#note(log, { seq, at });
    return result;
  }

  /** Time since it was proved; `undefined`: it never was. */
  ageMillis(log: LogName): number | undefined {
    const proof = this.#proofs.get(log);
    return proof && this.#now() - proof.at;
  }

  #note(log: LogName, proof: Proof): void {
    const known = this.#proofs.get(log);
    if (known === undefined || known.seq <= proof.seq) this.#proofs.set(log, proof);
  }
}
