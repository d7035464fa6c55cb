import { bytesText } from '../values/bytes-text.ts';
import type { Io } from './io.ts';

/** How far a long work is. */
export interface WorkStep {
  readonly phase: string;
  readonly done: number;
  /** 0: nobody knows. */
  readonly total: number;
  /** What is counted: `rows`, `bytes`. */
  readonly unit: string;
}

/** A bar in a terminal, a line every ten seconds elsewhere, and JSON lines for other programs. */
export class WorkProgress {
  readonly #io: Io;
  readonly #isJson: boolean;
  #shownAt = performance.now();

  constructor(io: Io, isJson: boolean) {
    this.#io = io;
    this.#isJson = isJson;
  }

  show(step: WorkStep): void {
    const now = performance.now();
    const { showsProgress } = this.#io;
    const pause = this.#isJson ? jsonMillis : showsProgress ? barMillis : lineMillis;
    if (now - this.#shownAt < pause) return;
    this.#shownAt = now;
    if (this.#isJson) this.#io.out(JSON.stringify(step));
    else if (showsProgress) this.#io.progress(barText(step));
    else this.#io.err(lineText(step));
  }

  end(): void {
    this.#io.progress('');
  }
}

const barMillis = 100;
const jsonMillis = 1_000;
const lineMillis = 10_000;
const barWidth = 30;

function barText(step: WorkStep): string {
  const { phase, done, total } = step;
  if (total === 0) return lineText(step);
  const part = Math.min(1, done / total);
  const filled = Math.round(part * barWidth);
  const bar = '#'.repeat(filled) + '.'.repeat(barWidth - filled);
  return `${phase} [${bar}] ${Math.floor(part * 100)} % of ${amountText(total, step.unit)}`;
}

function lineText({ phase, done, total, unit }: WorkStep): string {
  if (done === 0 && total === 0) return `${phase} …`;
  const amount = amountText(done, unit);
  if (total === 0) return `${phase}: ${amount}`;
  const percent = Math.floor(Math.min(1, done / total) * 100);
  return `${phase}: ${amount} of ${amountText(total, unit)}, ${percent} %`;
}

function amountText(count: number, unit: string): string {
  return unit === 'bytes' ? bytesText(count) : `${count} ${unit}`;
}
