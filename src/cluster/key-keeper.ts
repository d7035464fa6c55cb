import type { KeyFiles } from '../auth/keys.ts';
import { fingerprintOfKeyText } from '../auth/secret-keys.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import { ClusterError } from './cluster-error.ts';
import type { ClusterSecret } from './cluster-secret.ts';
import type { KeyChain } from './key-chain.ts';
import { writeKeyFiles } from './key-files.ts';
import type { KeyRevision } from './key-revision.ts';
import { shutText } from './sealed-boxes.ts';

export interface KeyKeeperOptions {
  readonly files: KeyFiles;
  readonly chain: KeyChain;
  readonly secret: ClusterSecret;
  /** What the host has. */
  readonly revision: KeyRevision;
  readonly report: Report;
}

/** How far a host is with the keys of its cluster. */
export interface KeyState {
  readonly revision: number;
  /** The names of the cluster secrets that it has. */
  readonly secrets: readonly string[];
}

/** Has the keys of a host be those of its cluster while it runs. */
export class KeyKeeper {
  readonly #options: KeyKeeperOptions;
  #revision: KeyRevision;
  #onChange: () => Promise<void> = async () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isShut = false;

  constructor(options: KeyKeeperOptions) {
    this.#options = options;
    this.#revision = options.revision;
  }

  /** Calls `onChange` after the files have changed, and looks for newer keys from now on. */
  start(onChange: () => Promise<void>): void {
    this.#onChange = onChange;
    this.#timer = setInterval(() => {
      // The engine is away, or a file cannot be written: it was said, or is tried again.
      this.look().catch(() => undefined);
    }, limits.keysLookMillis);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  get revision(): KeyRevision {
    return this.#revision;
  }

  /** True if the cluster has a secret that this host lacks: other hosts refuse it. */
  get isShut(): boolean {
    return this.#isShut;
  }

  get state(): KeyState {
    return { revision: this.#revision.revision, secrets: this.#options.secret.names };
  }

  /** The key for secrets of databases that hosts do not all have yet. */
  get heldSecretsKey(): string | undefined {
    const { secrets, waits } = this.#revision;
    const held = secrets.find((one) => one.number === waits);
    return held && fingerprintOfKeyText(held.text);
  }

  /** Takes the newest keys. Rejects with `EngineError`, and with what the files are refused for. */
  look(): Promise<void> {
    const next = this.#looking.then(() => this.#take());
    this.#looking = next.catch(() => undefined);
    return next;
  }

  /** What another host asks; `undefined`: nothing that is known here. */
  async answer(path: string): Promise<unknown> {
    if (path !== keysPath) return undefined;
    await this.look();
    return this.state;
  }

  /**
   * Has this host use other cluster secrets; true: one is not among them any more. Rejects with
   * `ClusterError` if they open nothing.
   */
  async useSecret(next: ClusterSecret): Promise<boolean> {
    const { secret, chain } = this.#options;
    const [counting = ''] = secret.names;
    const opens = next.names.includes(counting) || (await chain.opens(next, this.#revision));
    if (!opens) throw new ClusterError(shutText);
    const before = secret.names;
    secret.replaceBy(next);
    await this.look();
    return before.some((name) => !next.names.includes(name));
  }

  /** Puts a revision made of the newest one, again if another host was first. */
  async change(make: (newest: KeyRevision) => KeyRevision): Promise<void> {
    for (let tries = 0; tries < limits.registryTriesMax; tries++) {
      await this.look();
      if (this.#isShut) throw new ClusterError(shutText);
      const before = this.#revision;
      const next = make(before);
      if (next === before || (await this.#options.chain.put(next))) return this.look();
    }
    throw new ClusterError('Other hosts change the keys at this moment, too: try again.');
  }

  async #take(): Promise<void> {
    const { chain, files, report } = this.#options;
    const found = await chain.newest(this.#revision.revision);
    if (found.kind === 'none') return;
    if (found.kind === 'shut') {
      if (!this.#isShut) report({ level: 'error', message: changedText });
      this.#isShut = true;
      return;
    }
    this.#isShut = false;
    const { revision } = found;
    try {
      await writeKeyFiles(files, revision);
      this.#revision = revision;
      await this.#onChange();
    } catch (error) {
      const cause = (error as Error).message;
      const message = `the keys of the cluster (revision ${revision.revision}) cannot be used`;
      report({ level: 'error', message: `${message}: ${cause}` });
      throw error;
    }
    const message = `uses the keys of the cluster, revision ${revision.revision}`;
    report({ level: 'info', message });
  }
}

/** Below the paths of hosts: take the newest keys, and say how far you are. */
export const keysPath = 'keys';

const changedText =
  'the cluster has another secret than this host, so other hosts refuse its connections. Write ' +
  'the new secret to the file of --cluster-secret-file and send SIGHUP, or restart with it';
