import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Field, Input, Switch } from '../../parts/field.tsx';
import { Bar, FullPage, Space } from '../../parts/page.tsx';
import { useLoad } from '../../service/load.ts';
import { runSql } from '../../service/sql.ts';
import { useConnection } from '../../shell/connection.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { setParams, useParam } from '../../shell/router.tsx';
import type { Vocabulary } from './editor-setup.ts';
import { KeptPanel } from './kept-panel.tsx';
import { ResultView } from './result-view.tsx';
import { useFollowing, useRun } from './run.ts';
import { remember } from './saved.ts';
import styles from './sql.module.css';
import { type EditorHandle, SqlEditor } from './sql-editor.tsx';
import { isExplain, isReading, parametersOf, statementAt } from './statements.ts';

/** Beyond this, a statement is not kept in the address. */
const addressCharactersMax = 6_000;
const typingMillis = 400;

/** Statements: written, run, followed. What stands in the address is shown, and not run. */
export function Page({ database }: { readonly database: string }) {
  const [inAddress] = useParam('sql');
  const [view, setView] = useParam('view', 'rows');
  const [live, setLive] = useParam('live');
  const [text, setText] = useState(inAddress);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [isKeptOpen, setKeptOpen] = useState(false);
  const editor = useRef<EditorHandle>(null);
  const { run, start, cancel } = useRun(database);
  const connection = useConnection(database);
  const vocabulary = useVocabulary(database);
  const again = useCallback(() => {
    if (run !== null && !run.isRunning) void start(run.statement, run.parameters);
  }, [run, start]);
  const follow = useFollowing({ connection, run, isOn: live === '1', again });
  useTextInAddress(text, inAddress, editor);
  const begin = (prefix = '') => {
    const handle = editor.current;
    if (handle === null) return;
    const statement = statementAt(handle.text(), handle.selection());
    if (statement === null) return handle.focus();
    const isPrefixed = prefix !== '' && !isExplain(statement.text);
    const chosen = isPrefixed
      ? { text: `${prefix} ${statement.text}`, from: statement.from - prefix.length - 1 }
      : statement;
    remember(database, statement.text);
    void start(chosen, texts);
  };
  const choose = (sql: string) => {
    editor.current?.write(sql);
    setKeptOpen(false);
  };
  return (
    <FullPage title="SQL">
      <SqlBar
        isRunning={run?.isRunning === true}
        isReading={isReading(text)}
        isLive={live === '1'}
        onRun={() => begin()}
        onCancel={cancel}
        onExplain={() => begin('EXPLAIN ANALYZE')}
        onLive={(isOn) => setLive(isOn ? '1' : '')}
        onKept={() => setKeptOpen(true)}
      />
      <div className={styles.place}>
        <SqlEditor
          ref={editor}
          start={inAddress}
          vocabulary={vocabulary}
          mark={run?.mark ?? null}
          onChange={setText}
          onRun={() => begin()}
        />
        <Parameters text={text} texts={texts} onChange={setTexts} />
        <span />
        <section className={styles.result} aria-label="Result">
          <ResultView
            run={run}
            view={view === 'chart' ? 'chart' : 'rows'}
            onView={setView}
            follow={follow}
          />
        </section>
      </div>
      {isKeptOpen && (
        <KeptPanel
          database={database}
          sql={text}
          onChoose={choose}
          onClose={() => setKeptOpen(false)}
        />
      )}
    </FullPage>
  );
}

interface SqlBarProps {
  readonly isRunning: boolean;
  readonly isReading: boolean;
  readonly isLive: boolean;
  readonly onRun: () => void;
  readonly onCancel: () => void;
  readonly onExplain: () => void;
  readonly onLive: (isOn: boolean) => void;
  readonly onKept: () => void;
}

function SqlBar(props: SqlBarProps) {
  const { isRunning, isLive, onRun, onCancel, onExplain, onLive, onKept } = props;
  return (
    <Bar label="Statement">
      <Button
        kind="accent"
        icon="play"
        aria-keyshortcuts="Control+Enter Meta+Enter"
        onClick={onRun}
      >
        Run
      </Button>
      {isRunning && (
        <Button icon="stop" onClick={onCancel}>
          Stop waiting
        </Button>
      )}
      <Button
        icon="chart"
        off={!props.isReading && 'Only statements that read are explained: this would run it'}
        onClick={onExplain}
      >
        Explain
      </Button>
      <Space />
      <Switch label="Live" isOn={isLive} onChange={onLive} />
      <Button icon="history" aria-label="Statements" onClick={onKept}>
        <span className={styles.wideOnly}>Statements</span>
      </Button>
    </Bar>
  );
}

interface ParametersProps {
  readonly text: string;
  readonly texts: Readonly<Record<string, string>>;
  readonly onChange: (texts: Readonly<Record<string, string>>) => void;
}

/** A field for each parameter of what is in the editor. */
function Parameters({ text, texts, onChange }: ParametersProps) {
  const names = parametersOf(text);
  if (names.length === 0) return <span />;
  return (
    <form
      className={styles.parameters}
      aria-label="Parameters"
      onSubmit={(e) => e.preventDefault()}
    >
      {names.map((name) => (
        <Field key={name} label={name.startsWith('$') ? name : `:${name}`} note="JSON, or a text">
          {(control) => (
            <Input
              {...control}
              isData
              value={texts[name] ?? ''}
              onChange={(event) => onChange({ ...texts, [name]: event.target.value })}
            />
          )}
        </Field>
      ))}
    </form>
  );
}

/** Keeps what is typed in the address, and shows what another address says. */
function useTextInAddress(
  text: string,
  inAddress: string,
  editor: { readonly current: EditorHandle | null },
): void {
  const written = useRef(inAddress);
  useEffect(() => {
    if (text === written.current) return;
    const timer = setTimeout(() => {
      written.current = text;
      const isKept = text !== '' && text.length <= addressCharactersMax;
      setParams({ sql: isKept ? text : null });
    }, typingMillis);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    if (inAddress === written.current || inAddress === '') return;
    written.current = inAddress;
    editor.current?.write(inAddress);
  }, [inAddress, editor]);
}

/** Names that can be completed: those of the schema, and the functions of SQL. */
function useVocabulary(database: string): Vocabulary {
  const { schema } = useDatabase();
  const functions = useLoad(`functions ${database}`, async (signal) => {
    const { rows } = await runSql(database, 'SHOW FUNCTIONS', { signal, isConfirmed: false });
    return [...new Set(rows.map(([name]) => String(name)))];
  });
  const names = functions.value;
  const tables = schema.value?.tables;
  return useMemo(() => {
    const columns = (tables ?? []).map((table) => {
      return [table.name, table.columns.map(({ name }) => name)] as const;
    });
    return { tables: Object.fromEntries(columns), functions: names ?? [] };
  }, [tables, names]);
}
