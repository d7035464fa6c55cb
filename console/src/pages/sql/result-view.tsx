import { lazy, Suspense } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { copyText } from '../../parts/copy.tsx';
import { download } from '../../parts/download.ts';
import { Menu } from '../../parts/menu.tsx';
import { countText, microsText } from '../../parts/numbers.ts';
import { Bar, Space } from '../../parts/page.tsx';
import { ResultGrid } from '../../parts/result-grid.tsx';
import { rowsAsCsv, rowsAsJson } from '../../parts/rows-as-text.ts';
import { Empty, Loading, Notice } from '../../parts/state.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import type { SqlResult } from '../../service/sql.ts';
import { PlanTree } from './plan-tree.tsx';
import type { FollowState, Run } from './run.ts';
import styles from './sql.module.css';
import { isExplain } from './statements.ts';

/** Drawn with a library of its own, which is loaded with the first chart. */
const Chart = lazy(async () => ({ default: (await import('./chart.tsx')).Chart }));

export type View = 'rows' | 'chart' | 'plan';

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
  if (result.columns.length === 0) return <Written result={result} />;
  const isPlan = isExplain(run.statement.text);
  const shown = isPlan && view !== 'rows' ? 'plan' : view === 'plan' ? 'rows' : view;
  return (
    <>
      <ResultBar result={result} isPlan={isPlan} view={shown} onView={onView} follow={follow} />
      {shown === 'rows' && result.rows.length === 0 && (
        <Empty icon="table" title="No rows">
          The statement ran, and no row fits.
        </Empty>
      )}
      {shown === 'rows' && result.rows.length > 0 && (
        <ResultGrid label="Result" columns={result.columns} rows={result.rows} />
      )}
      {shown === 'plan' && <PlanTree rows={result.rows} />}
      {shown === 'chart' && (
        <Suspense fallback={<Loading label="Loading the chart" />}>
          <Chart result={result} />
        </Suspense>
      )}
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
  readonly isPlan: boolean;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly follow: FollowState;
}

function ResultBar({ result, isPlan, view, onView, follow }: ResultBarProps) {
  const { columns, rows, micros } = result;
  const second = isPlan
    ? ({ id: 'plan', label: 'Plan' } as const)
    : ({ id: 'chart', label: 'Chart' } as const);
  const tabs = [{ id: 'rows', label: isPlan ? 'Lines' : 'Rows' } as const, second];
  const json = () => rowsAsJson(columns, rows);
  const csv = () => rowsAsCsv(columns, rows);
  return (
    <Bar label="Result">
      <Tabs label="Show as" tabs={tabs} chosen={view} onChoose={onView} />
      <Space />
      {follow !== 'off' && (
        <Badge kind={follow === 'live' ? 'good' : 'quiet'} hasDot title={followTexts[follow]}>
          {follow === 'live' ? 'Live' : 'Follows'}
        </Badge>
      )}
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

const followTexts = {
  live: 'The rows follow a subscription',
  again: 'The service does not watch this query: it runs again every two seconds',
};
