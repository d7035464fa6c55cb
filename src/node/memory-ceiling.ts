import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { limits } from '../limits.ts';
import { systemCommand } from './command-wrappers.ts';
import type { RunCommand } from './run-command.ts';

/** Where the system keeps control groups, and the group of this process; tests pass others. */
export interface GroupPlaces {
  readonly groupsFolder: string;
  readonly ownGroupFile: string;
}

/** Reading it takes as long as reading a file. */
const machineBytes = os.totalmem();

const systemPlaces: GroupPlaces = {
  groupsFolder: '/sys/fs/cgroup',
  ownGroupFile: '/proc/self/cgroup',
};

/**
 * The most memory that a process can take, enforced by the system: a control group (version 2)
 * where this process can create one, else the limit on data that the `prlimit` command sets, else
 * nothing. It is well above the limit of the watchdog, which checks every few milliseconds and
 * names the excess in the outcome of the call; the ceiling holds when one operation asks for
 * gigabytes at once.
 *
 * A control group is created beside the one of this process, or in it: what systemd gives a service
 * with `Delegate=memory` and `DelegateSubgroup=gateway`. Core files are forbidden, too, because one
 * holds everyone's rows.
 */
export class MemoryCeiling {
  readonly #baseBytes: number;
  readonly #run: RunCommand;
  readonly #places: GroupPlaces;
  readonly #prlimit: string | undefined;
  #group: string | undefined;
  #processId: number | undefined;
  #allowedBytes: number;
  #isRaising = false;

  /** `baseBytes`: what the process can take besides what `hold` reports. */
  constructor(baseBytes: number, run: RunCommand, places = systemPlaces) {
    this.#baseBytes = baseBytes;
    this.#run = run;
    this.#places = places;
    this.#prlimit = systemCommand('prlimit');
    this.#allowedBytes = baseBytes + limits.ceilingStepBytes;
  }

  /** The words to put before the process's own command. */
  get command(): readonly string[] {
    if (this.#prlimit === undefined) return [];
    return [this.#prlimit, '--core=0', `--data=${this.#allowedBytes}:`];
  }

  /** Must be called once the process has started. */
  watch(processId: number): void {
    this.#processId = processId;
    this.#group = joinGroup(processId, this.#allowedBytes, this.#places);
  }

  /**
   * Notes that the process reports this many bytes of rows and indexes: the ceiling rises with
   * them, in steps, and never by more than the machine has.
   */
  hold(heldBytes: number): void {
    const needed = this.#baseBytes + Math.min(heldBytes, machineBytes);
    if (needed < this.#allowedBytes) return;
    this.#allowedBytes = needed + limits.ceilingStepBytes;
    this.#raiseGroup();
    this.#raiseLimit();
  }

  #raiseGroup(): void {
    if (this.#group === undefined) return;
    try {
      writeLimit(this.#group, this.#allowedBytes);
    } catch {
      // The process may be gone, or no descriptor may be left here: the old limit stays.
    }
  }

  /** Runs one command at a time: a limit that is set later must not be the lower one. */
  #raiseLimit(): void {
    if (this.#prlimit === undefined || this.#processId === undefined || this.#isRaising) return;
    const bytes = this.#allowedBytes;
    const words = [`--pid=${this.#processId}`, `--data=${bytes}:`];
    this.#isRaising = true;
    const ended = () => {
      this.#isRaising = false;
      if (this.#allowedBytes > bytes) this.#raiseLimit();
    };
    // A process that ended meanwhile needs no limit.
    const failed = () => {
      this.#isRaising = false;
    };
    void this.#run(this.#prlimit, words).then(ended, failed);
  }

  /** Must be called once the process has ended. */
  end(): void {
    this.#processId = undefined;
    if (this.#group === undefined) return;
    try {
      fs.rmdirSync(this.#group);
    } catch {
      // The system has not released it yet; an empty group costs nothing.
    }
    this.#group = undefined;
  }
}

/** Puts a process into a new group with a limit. `undefined`: this process cannot create one. */
function joinGroup(
  processId: number,
  bytesMax: number,
  { groupsFolder, ownGroupFile }: GroupPlaces,
): string | undefined {
  const own = ownGroup(ownGroupFile);
  if (own === undefined) return undefined;
  const parents = [path.dirname(own), own].map((group) => path.join(groupsFolder, group));
  for (const parent of parents) {
    const group = path.join(parent, `reducerdb-${processId}`);
    try {
      fs.appendFileSync(path.join(parent, 'cgroup.subtree_control'), '+memory', { flag: 'r+' });
      fs.mkdirSync(group);
    } catch {
      continue;
    }
    try {
      writeLimit(group, bytesMax);
      fs.writeFileSync(path.join(group, 'cgroup.procs'), String(processId), { flag: 'r+' });
      return group;
    } catch {
      fs.rmdirSync(group);
    }
  }
  return undefined;
}

function ownGroup(file: string): string | undefined {
  try {
    return /^0::(\/.+)$/m.exec(fs.readFileSync(file, 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}

function writeLimit(group: string, bytesMax: number): void {
  fs.writeFileSync(path.join(group, 'memory.max'), String(bytesMax), { flag: 'r+' });
}
