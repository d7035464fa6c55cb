import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { JsonError } from '../../values/json-error.ts';
import {
  type Canary,
  type Deploy,
  followedBy,
  type NextDeploy,
  programsToKeep,
  type RunningProgram,
} from '../deployed/deploy.ts';
import {
  type DeploysRecord,
  decodeDeploys,
  encodeDeploys,
  settledBy,
} from '../deployed/deploy-record.ts';
import type { Shelf } from '../sites/shelf.ts';

export interface DeployListOptions {
  readonly shelf: Shelf;
  /** The generation of the database that counts. */
  readonly generation: () => number | undefined;
  /** What runs, once the database serves. */
  readonly running: () => Promise<RunningProgram>;
  /** The bytes of what runs. */
  readonly program: () => Promise<Uint8Array>;
  /** Called when the list could not be read or written. */
  readonly complain: (problem: string) => void;
}

/** The deploys of a database, oldest first, and what is known of them. */
export interface KnownDeploys {
  readonly deploys: readonly Deploy[];
  /** The number of the one whose program runs; `undefined`: the database does not serve. */
  readonly running: number | undefined;
  /** Hashes of the programs that can be put back. */
  readonly kept: ReadonlySet<string>;
}

/** A deploy that is being made. One of the two is called in the end. */
export interface StagedDeploy {
  readonly number: number;
  /** The program runs, durably, since this commit. Resolves when a restart knows it, too. */
  done(commit: number): Promise<Deploy>;
  /** It failed, or it is not known whether it did: what runs decides. */
  undone(): void;
}

/**
 * The deploys of one database. Entries of the shelf:
 *
 * | entry | content |
 * |---|---|
 * | `deploys.json` | the deploys, and the one that was begun last |
 * | `<hash>.program` | a program that no longer runs, or not only |
 * | `canary` | empty: a deploy is watched |
 *
 * A program is one change of the database. That it will come, and who sends it, is durable before;
 * so is the program before it. Afterwards what runs says whether it has come: nothing is taken
 * from this list that the database does not confirm.
 */
export class DeployList {
  readonly #options: DeployListOptions;
  #isStaged = false;
  /** The last deploy that was written down; `undefined`: nobody has looked. */
  #newest: { readonly deploy: Deploy | undefined } | undefined;
  /** The last operation; they run one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: DeployListOptions) {
    this.#options = options;
  }

  /** What is known. A database that cannot be opened shows what was written down. */
  list(): Promise<KnownDeploys> {
    return this.#inTurn(async () => {
      if (this.#isStaged) return this.#shown((await this.#read()).deploys, undefined);
      try {
        const { deploys } = await this.#settled();
        return this.#shown(deploys, deploys.at(-1)?.number);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return this.#shown((await this.#read()).deploys, undefined);
      }
    });
  }

  /** The last deploy that is written down; asks no database, and reads its file once. */
  async newest(): Promise<Deploy | undefined> {
    this.#newest ??= { deploy: (await this.#read()).deploys.at(-1) };
    return this.#newest.deploy;
  }

  /** Static files of deploys that no longer run, the newest first; asks no database. */
  async earlierSets(): Promise<readonly string[]> {
    const { deploys, next } = await this.#read();
    const earlier = next === undefined ? deploys.slice(0, -1) : deploys;
    return [...new Set(earlier.toReversed().flatMap(({ staticSet }) => staticSet ?? []))];
  }

  /**
   * Prepares for a program that will replace the running one, which is kept. `served`: the static
   * files at this moment. Rejects with `Refusal` where the database does not serve; what begins
   * again without its rows can do without that.
   */
  stage(next: NextDeploy, served: string | undefined): Promise<StagedDeploy> {
    return this.#inTurn(async () => {
      const { shelf } = this.#options;
      const deploys = withServed(await this.#beforeNext(next), served);
      if (next.canary !== undefined) await shelf.replace('canary', '');
      await this.#write({ deploys, next });
      this.#isStaged = true;
      const number = (deploys.at(-1)?.number ?? 0) + 1;
      return {
        number,
        done: (commit) => this.#inTurn(() => this.#done(deploys, { ...next, number, commit })),
        undone: () => {
          this.#isStaged = false;
        },
      };
    });
  }

  /** The deploys before, with the last program kept. */
  async #beforeNext({ kind }: Pick<NextDeploy, 'kind'>): Promise<readonly Deploy[]> {
    if (kind === 'created') return [];
    try {
      const { deploys } = await this.#settled();
      const replaced = deploys.at(-1)?.program;
      if (replaced !== undefined) await this.#keep(replaced);
      return deploys;
    } catch (error) {
      if (kind !== 'reset' || !(error instanceof Refusal)) throw error;
      return (await this.#read()).deploys;
    }
  }

  /**
   * Keeps the running program while the one that will replace it is still examined. What goes wrong
   * is met again by `stage`, which says so.
   */
  keepRunning(): Promise<void> {
    const work = this.#inTurn(() => this.#beforeNext({ kind: 'updated' }));
    return work.then(
      () => undefined,
      () => undefined,
    );
  }

  /** A program that was kept; `undefined`: it is not here. */
  kept(hash: string): Promise<Uint8Array | undefined> {
    return this.#options.shelf.read(programName(hash));
  }

  /** Notes what became of a canary, unless the deploy is no longer watched. */
  settleCanary(number: number, state: Canary['state'], reason: string): Promise<void> {
    return this.#inTurn(async () => {
      const { deploys, next } = await this.#read();
      const changed = deploys.map((one) => {
        if (one.number !== number || one.canary?.state !== 'watched') return one;
        return { ...one, canary: { ...one.canary, state, reason } };
      });
      await this.#write({ deploys: changed, next });
      await this.noLongerWatched();
    });
  }

  /** Whether a deploy is watched, as far as that is known without the database. */
  async mayBeWatched(): Promise<boolean> {
    return (await this.#options.shelf.size('canary')) !== undefined;
  }

  async noLongerWatched(): Promise<void> {
    await this.#options.shelf.remove(['canary']);
  }

  /** Where it cannot be written, what was begun is there, and what runs settles that. */
  async #done(before: readonly Deploy[], deploy: Deploy): Promise<Deploy> {
    await this.#note({ deploys: followedBy(before, deploy), next: undefined });
    this.#isStaged = false;
    if (deploy.canary === undefined) await this.noLongerWatched();
    return deploy;
  }

  /** The list as what runs confirms it, written down if it was another. */
  async #settled(): Promise<DeploysRecord> {
    const before = await this.#read();
    const running = await this.#options.running();
    const generation = this.#options.generation() ?? 0;
    const deploys = settledBy(before, running, generation);
    const after = { deploys, next: undefined };
    if (deploys !== before.deploys || before.next !== undefined) await this.#note(after);
    return after;
  }

  /** The list can be settled again later: a full disk must not keep anyone from reading it. */
  async #note(record: DeploysRecord): Promise<void> {
    try {
      await this.#write(record);
    } catch (error) {
      this.#options.complain(`its deploys could not be written: ${String(error)}`);
    }
  }

  async #keep(hash: string): Promise<void> {
    const { shelf, program } = this.#options;
    if ((await shelf.size(programName(hash))) !== undefined) return;
    const bytes = await program();
    const draft = await shelf.draft();
    try {
      await draft.write(bytes);
    } catch (error) {
      await draft.drop();
      throw error;
    }
    await draft.keepAs(programName(hash));
    await shelf.settle();
  }

  async #shown(deploys: readonly Deploy[], running: number | undefined): Promise<KnownDeploys> {
    const names = await this.#options.shelf.names();
    const kept = new Set(names.map((name) => /^([\da-f]{64})\.program$/.exec(name)?.[1] ?? ''));
    kept.delete('');
    return { deploys, running, kept };
  }

  async #read(): Promise<DeploysRecord> {
    const bytes = await this.#options.shelf.read('deploys.json');
    if (bytes === undefined) return nothing;
    try {
      return decodeDeploys(Buffer.from(bytes).toString('utf8'));
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      this.#options.complain(`its deploys cannot be read, and begin again: ${error.message}`);
      return nothing;
    }
  }

  async #write({ deploys, next }: DeploysRecord): Promise<void> {
    const { shelf } = this.#options;
    const listed = deploys.slice(-limits.deploysListedMax);
    await shelf.replace('deploys.json', encodeDeploys({ deploys: listed, next }));
    this.#newest = { deploy: listed.at(-1) };
    if (next !== undefined) return;
    const kept = programsToKeep(listed, limits.deployProgramsKeptMax);
    // What a crash has left of writing is as old as that.
    const isLeft = (name: string) => /^\..*\.tmp$/.test(name);
    const isOld = (name: string) =>
      isLeft(name) || (name.endsWith('.program') && !kept.has(name.slice(0, -8)));
    const old = (await shelf.names()).filter(isOld);
    if (old.length > 0) await shelf.remove(old);
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

const nothing: DeploysRecord = { deploys: [], next: undefined };

function programName(hash: string): string {
  return `${hash}.program`;
}

/** Static files can be published without a program: those of a deploy are those it ends with. */
function withServed(deploys: readonly Deploy[], served: string | undefined): readonly Deploy[] {
  const last = deploys.at(-1);
  if (last === undefined || last.staticSet === served) return deploys;
  return [...deploys.slice(0, -1), { ...last, staticSet: served }];
}
