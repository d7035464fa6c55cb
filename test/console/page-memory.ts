import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession, Page } from 'playwright-core';
import { ConsoleStage } from './console-support.ts';
import { marketModule } from './market-module.ts';

/** What the page holds after a collection of garbage. */
export interface Holding {
  readonly heapBytes: number;
  readonly nodes: number;
  readonly listeners: number;
}

export interface Browsing {
  /** Rows of the table that is browsed. */
  readonly rows: number;
  /** It goes on at least this long, and for at least so many rounds, each of which is measured. */
  readonly millis: number;
  readonly roundsMin: number;
  /** Rounds that come before those that count: pages and code are loaded, pools are filled. */
  readonly isWarm: (round: number, millis: number) => boolean;
  readonly log: (line: string) => void;
}

/** Each call has its time limit, also where the machine is busy. */
const fillRows = 5_000;
/** Each call changes 30 rows. */
const changesPerSecond = 1_000;
const bumpedRows = 30;
/** One call in so many writes a line of the log. */
const callsPerLine = 10;
const patienceMillis = 120_000;
/** What a page may hold more of in the end than when it was warm. */
const growthMax = 1.1;
const heapBytesMore = 5 * 1024 * 1024;
const nodesMore = 500;
const listenersMore = 100;
/** A page goes to and fro between two counts of listeners: it gets some rounds to show both. */
const roundsMore = 16;

const chattyModule = `${marketModule}
  export const remark = db.reducer({ text: t.string() }, (_ctx, { text }) => {
    console.log(text);
  });
`;

/**
 * Somebody browses a table that changes a thousand times a second: they scroll it, filter it, and
 * go to other pages and back, without a reload. Returns what the page held after each round that
 * counts.
 */
export async function browse(options: Browsing): Promise<readonly Holding[]> {
  const stage = await ConsoleStage.open();
  const stop = new AbortController();
  try {
    await stage.publish('market', chattyModule);
    for (let from = 1; from <= options.rows; from += fillRows) {
      const count = Math.min(fillRows, options.rows - from + 1);
      await stage.call('market', 'fill', [from, count]);
    }
    const visitor = await stage.visit('db/market/data?table=purchase');
    const { page } = visitor;
    // A machine that is busy with other things is no fault of the page.
    page.setDefaultTimeout(patienceMillis);
    const debug = await page.context().newCDPSession(page);
    const writing = change(stage, stop.signal);
    // It is awaited at the end; until then a fault of the page is the one to report.
    void writing.catch(() => undefined);
    const holdings: Holding[] = [];
    let roundsLeft = roundsMore;
    const began = performance.now();
    for (let round = 1; ; round += 1) {
      await goRound(page, round).catch(async (error: unknown) => {
        await visitor.shoot('page-memory-stuck');
        options.log(await page.locator('main').innerText());
        throw error;
      });
      const millis = performance.now() - began;
      const holding = await holdingOf(debug);
      const isWarm = options.isWarm(round, millis);
      options.log(`${isWarm ? '' : 'warming '}${lineOf(round, millis, holding)}`);
      if (isWarm) holdings.push(holding);
      const isEnough = millis >= options.millis && holdings.length >= options.roundsMin;
      if (!isEnough) continue;
      roundsLeft -= 1;
      if (isBounded(holdings) || roundsLeft < 0) break;
    }
    stop.abort();
    const perSecond = (await writing) / ((performance.now() - began) / 1_000);
    options.log(`${Math.round(perSecond)} changes/s`);
    visitor.expectNoTroubles();
    return holdings;
  } finally {
    stop.abort();
    await stage.close();
  }
}

/** Whether no more is held at the end than at the beginning, beyond a bound. */
export function isBounded(holdings: readonly Holding[]): boolean {
  const part = Math.max(2, Math.floor(holdings.length / 4));
  const [first, last] = [least(holdings.slice(0, part)), least(holdings.slice(-part))];
  const listeners = holdings.map((holding) => holding.listeners);
  const half = Math.ceil(holdings.length / 2);
  const before = Math.max(...listeners.slice(0, half));
  const after = Math.min(...listeners.slice(half));
  return (
    last.heapBytes <= first.heapBytes * growthMax + heapBytesMore &&
    last.nodes <= first.nodes * growthMax + nodesMore &&
    after <= before * growthMax + listenersMore
  );
}

/** The least of each figure: what comes and goes with the moment is not held. */
function least(holdings: readonly Holding[]): Holding {
  const of = (figure: (holding: Holding) => number) => Math.min(...holdings.map(figure));
  return {
    heapBytes: of(({ heapBytes }) => heapBytes),
    nodes: of(({ nodes }) => nodes),
    listeners: of(({ listeners }) => listeners),
  };
}

/** Changes the first rows until `signal`; resolves to how many changes there were. */
async function change(stage: ConsoleStage, signal: AbortSignal): Promise<number> {
  const began = performance.now();
  let calls = 0;
  while (!signal.aborted) {
    calls += 1;
    const rest = began + (calls * bumpedRows * 1_000) / changesPerSecond - performance.now();
    if (rest > 0) await sleep(rest);
    await insist(() => stage.call('market', 'bump', [1, bumpedRows]), signal);
    if (calls % callsPerLine > 0) continue;
    await insist(() => stage.call('market', 'remark', [`call ${calls}`]), signal);
  }
  return calls * bumpedRows;
}

/** Calls again while the database opens again, which may last where the machine is busy. */
async function insist(call: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isOpening = error instanceof Error && error.message.includes(': 503 ');
      if (!isOpening || signal.aborted) throw error;
      await sleep(1_000);
    }
  }
}

/** From the grid through the other pages, and back to the grid as it was. */
async function goRound(page: Page, round: number): Promise<void> {
  await scroll(page);
  await filter(page, 5_000 + (round % 50));
  await page.locator('tr, [role="row"]').nth(1).waitFor();
  await go(page, 'sql');
  await runLive(page);
  await go(page, 'live');
  await page.getByRole('table').first().waitFor();
  await go(page, 'logs');
  await page
    .getByText(/call \d+/)
    .last()
    .waitFor();
  await go(page, 'metrics');
  await page.locator('canvas').first().waitFor();
  await go(page, 'data?table=purchase');
  await page.locator('[aria-rowindex="2"] [role="gridcell"]').first().waitFor();
}

async function go(page: Page, place: string): Promise<void> {
  const [path] = place.split('?');
  await page.locator(`nav[aria-label="Pages"] a[href$="/db/market/${path}"]`).click();
  const table = new URLSearchParams(place.split('?')[1]).get('table');
  if (table !== null) await page.locator(`nav[aria-label="Tables"] a[title="${table}"]`).click();
}

async function scroll(page: Page): Promise<void> {
  await page.getByRole('grid').waitFor();
  await page.evaluate(async () => {
    const grid = document.querySelector('[role="grid"]');
    if (grid === null) throw new Error('there is no grid');
    for (let step = 0; step < 60; step += 1) {
      grid.scrollTop += step % 20 === 19 ? grid.scrollHeight / 5 : 300;
      await new Promise(requestAnimationFrame);
    }
    grid.scrollTop = 0;
  });
}

async function filter(page: Page, cents: number): Promise<void> {
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByRole('combobox', { name: 'Column' }).selectOption('cents');
  await page.getByLabel('Condition').selectOption('>=');
  await page.getByLabel('Value').fill(String(cents));
  await page.getByRole('button', { name: 'Add filter' }).click();
  await page.getByText(`cents >= ${cents}`, { exact: true }).waitFor();
}

/** A statement whose result follows changes. */
async function runLive(page: Page): Promise<void> {
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText('SELECT id, cents FROM purchase WHERE id <= 30');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('table', { name: 'Result' }).waitFor();
  await page.getByText('Live', { exact: true }).last().click();
}

async function holdingOf(debug: CDPSession): Promise<Holding> {
  await debug.send('HeapProfiler.collectGarbage');
  await debug.send('HeapProfiler.collectGarbage');
  const { usedSize } = await debug.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners } = await debug.send('Memory.getDOMCounters');
  return { heapBytes: usedSize, nodes, listeners: jsEventListeners };
}

function lineOf(round: number, millis: number, { heapBytes, nodes, listeners }: Holding): string {
  const seconds = Math.round(millis / 1_000);
  const mebibytes = (heapBytes / 1024 / 1024).toFixed(2);
  return `round ${round}, ${seconds} s: ${mebibytes} MiB, ${nodes} nodes, ${listeners} listeners`;
}
