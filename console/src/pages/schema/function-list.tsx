import { Badge } from '../../parts/badge.tsx';
import { Panel } from '../../parts/page.tsx';
import { Empty } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import type { FunctionSchema } from '../../service/schema.ts';
import { declaredType } from './declared-type.ts';
import styles from './schema.module.css';

/** Every function with its parameters and what it returns. */
export function FunctionList({ functions }: { readonly functions: readonly FunctionSchema[] }) {
  return (
    <Panel isBare>
      {functions.length === 0 ? (
        <Empty icon="function" title="No function that you may see">
          A module declares reducers with <code>db.reducer(…)</code>.
        </Empty>
      ) : (
        <Table
          label="Functions"
          columns={columns}
          rows={functions}
          keyOf={({ kind, name }) => `${kind} ${name}`}
        />
      )}
    </Panel>
  );
}

const columns: readonly TableColumn<FunctionSchema>[] = [
  { title: 'Function', cell: ({ name }) => <code>{name}</code> },
  { title: 'Kind', cell: ({ kind }) => <Badge>{kind}</Badge> },
  {
    title: 'Parameters',
    cell: ({ parameters }) =>
      parameters.length === 0 ? (
        '–'
      ) : (
        <code className={styles.type}>
          {parameters.map(({ name, type }) => `${name}: ${declaredType(type, 1)}`).join(', ')}
        </code>
      ),
  },
  {
    title: 'Returns',
    cell: ({ returns }) =>
      returns === null ? '–' : <code className={styles.type}>{declaredType(returns, 1)}</code>,
  },
];
