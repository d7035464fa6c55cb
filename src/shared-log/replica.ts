import type { LogPoint } from '../log/log-point.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import type { Beginning } from './entry-payloads.ts';

/** One host's copy of a database: its local log, and the tables that its records make. */
export interface Replica {
  /** Where its log ends. */
  readonly end: LogPoint;
  /** Where its first record is: what is before is part of its state, and cannot be compared. */
  readonly startPosition: number;
  /** Largest offset that its records say was acknowledged. */
  readonly acknowledgedOffset: number;
  /** Makes an empty log, if there is none, as the log says that it begins. */
  begin(beginning: Beginning): Promise<void>;
  /**
   * The shared log begins at `point`, further on than it did: makes the state of this copy, where
   * it does not reach there, that of a snapshot of it or of later; else keeps it. False: there is
   * no snapshot that will do.
   */
  restart(beginning: Beginning, point: LogPoint): Promise<boolean>;
  /** The chain hash in front of the record at `position`, or at the end; else `undefined`. */
  chainAt(position: number): bigint | undefined;
  /** Appends records, which end at `end`, and applies them, at the latest when they are settled. */
  apply(write: LogWrite): Promise<void>;
  /** Commits up to `offset` are settled. Absent: it shows nothing to anybody. */
  settled?(offset: number): void;
  /** Keeps a copy of all records behind `point` aside, durably, and cuts them off; see 6.6. */
  setAside(point: LogPoint): Promise<void>;
  /** The records behind `point`, which is a border of records, as writes. */
  writesBehind(point: LogPoint): readonly LogWrite[];
  /** Makes everything that was written durable. */
  sync(): Promise<void>;
}
