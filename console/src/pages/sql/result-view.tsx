import { lazy, Suspense } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { copyText } from '../../parts/copy.tsx';
import { download } from '../../parts/download.ts';
import { Menu } from '../../parts/menu.tsx';
import { countText, microsText } from '../../parts/numbers.ts';
import { Bar, Space } from '../../parts/page.tsx';
import { ResultGrid } from '../../parts/result-grid.tsx';
import { rowsAsCsv, rowsAsJson } from '../../parts/rows-as-text.ts';
import { Empty, Loading, Notice } from '../../parts/state.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import type { PlanStep, SqlResult } from '../../service/sql.ts';
import { PlanTree } from './plan-tree.tsx';
import type { FollowState, Run } from './run.ts';
import styles from './sql.module.css';

/** Drawn with a library of its own, which is loaded with the first chart. */
const Chart = lazy(async () => ({ default: (await import('./chart.tsx')).Chart }));

export type View = 'rows' | 'chart';

interface ResultViewProps {
  readonly run: Run | null;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly follow: FollowState;
}

/** What the last statement answered. */
export function ResultView({ run, view, onView, follow }: ResultViewProps) {
  if (run === null) {
    return (
      <Empty icon="sql" title="Nothing has run yet">
        Write a statement and run it with Ctrl Enter. What is selected runs alone.
      </Empty>
    );
  }
  if (run.error !== null) {
    return (
      <div className={styles.note}>
        <Notice kind="danger" isAlert>
          <p>{run.error.message}</p>
          {run.error.hint !== undefined && <p>{run.error.hint}</p>}
        </Notice>
      </div>
    );
  }
  const { result } = run;
  if (result === null) return <Loading label="Running" lines={4} />;
  const { plan, micros } = result;
  if (plan !== null) return <Plan {...{ plan, micros, follow }} />;
  if (result.columns.length === 0) return <Written result={result} />;
  return (
    <>
      <ResultBar result={result} view={view} onView={onView} follow={follow} />
      {view === 'rows' && result.rows.length === 0 && (
        <Empty icon="table" title="No rows">
          The statement ran, and no row fits.
        </Empty>
      )}
      {view === 'rows' && result.rows.length > 0 && (
        <ResultGrid label="Result" columns={result.columns} rows={result.rows} />
      )}
      {view === 'chart' && (
        <Suspense fallback={<Loading label="Loading the chart" />}>
          <Chart result={result} />
        </Suspense>
      )}
    </>
  );
}

interface PlanProps {
  readonly plan: PlanStep;
  readonly micros: number;
  readonly follow: FollowState;
}

function Plan({ plan, micros, follow }: PlanProps) {
  const json = () => JSON.stringify(plan, null, 2);
  return (
    <>
      <Bar label="Result">
        <Space />
        <FollowBadge follow={follow} />
        <span className={styles.figures} role="status">
          {microsText(micros)}
        </span>
        <Button size="small" icon="copy" onClick={() => void copyText(json())}>
          Copy as JSON
        </Button>
      </Bar>
      <PlanTree plan={plan} />
    </>
  );
}

function Written({ result }: { readonly result: SqlResult }) {
  const { inserted, updated, deleted, micros } = result;
  return (
    <div className={styles.note}>
      <Notice kind="good">
        {countText(inserted)} inserted, {countText(updated)} updated, {countText(deleted)} deleted,
        in {microsText(micros)}.
      </Notice>
    </div>
  );
}

interface ResultBarProps {
  readonly result: SqlResult;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly follow: FollowState;
}

function ResultBar({ result, view, onView, follow }: ResultBarProps) {
  const { columns, rows, micros } = result;
  const json = () => rowsAsJson(columns, rows);
  const csv = () => rowsAsCsv(columns, rows);
  return (
    <Bar label="Result">
      <Tabs label="Show as" tabs={tabs} chosen={view} onChoose={onView} />
      <Space />
      <FollowBadge follow={follow} />
      <span className={styles.figures} role="status">
        {countText(rows.length)} {rows.length === 1 ? 'row' : 'rows'}, {microsText(micros)}
      </span>
      <Menu
        size="small"
        icon="download"
        items={[
          { label: 'Copy as JSON', icon: 'copy', run: () => void copyText(json()) },
          { label: 'Copy as CSV', icon: 'copy', run: () => void copyText(csv()) },
          {
            label: 'Save as JSON',
            icon: 'download',
            begins: true,
            run: () => download('result.json', 'application/json', json()),
          },
          {
            label: 'Save as CSV',
            icon: 'download',
            run: () => download('result.csv', 'text/csv', csv()),
          },
        ]}
      >
        Export
      </Menu>
    </Bar>
  );
}

const tabs = [
  { id: 'rows', label: 'Rows' },
  { id: 'chart', label: 'Chart' },
] as const;

function FollowBadge({ follow }: { readonly follow: FollowState }) {
  if (follow === 'off') return null;
  return (
    <Badge kind={follow === 'live' ? 'good' : 'quiet'} hasDot title={followTexts[follow]}>
      {follow === 'live' ? 'Live' : 'Follows'}
    </Badge>
  );
}

const followTexts = {
  live: 'The rows follow a subscription',
  again: 'The service does not watch this query: it runs again every two seconds',
};
