import { setDiagnostics } from '@codemirror/lint';
import { Compartment, Prec } from '@codemirror/state';
import { EditorView, keymap } from '@codemirror/view';
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react';
import { editorExtensions, languageOf, type Vocabulary } from './editor-setup.ts';
import styles from './sql.module.css';

/** Where an error is, in the whole text. */
export interface Mark {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

export interface EditorHandle {
  text(): string;
  selection(): readonly [from: number, to: number];
  /** Replaces the whole text. */
  write(text: string): void;
  focus(): void;
}

interface SqlEditorProps {
  readonly start: string;
  readonly vocabulary: Vocabulary;
  readonly mark: Mark | null;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
  readonly ref: Ref<EditorHandle>;
}

/**
 * The editor, in a shadow root: its style sheets are then constructed ones, which the policy of the
 * page allows.
 */
export function SqlEditor({ start, vocabulary, mark, onChange, onRun, ref }: SqlEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const language = useRef(new Compartment());
  const latest = useRef({ onChange, onRun, start });
  latest.current = { onChange, onRun, start };
  useEffect(() => {
    const host = place.current;
    if (host === null) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    const run = () => {
      latest.current.onRun();
      return true;
    };
    const view = new EditorView({
      doc: latest.current.start,
      root,
      parent: root,
      extensions: [
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run }])),
        editorExtensions(),
        language.current.of([]),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) latest.current.onChange(state.doc.toString());
        }),
      ],
    });
    editor.current = view;
    return () => {
      editor.current = null;
      view.destroy();
    };
  }, []);
  useEffect(() => {
    const effects = language.current.reconfigure(languageOf(vocabulary));
    editor.current?.dispatch({ effects });
  }, [vocabulary]);
  useEffect(() => {
    const view = editor.current;
    if (view === null) return;
    const end = view.state.doc.length;
    const marks = mark === null || mark.from > end ? [] : [{ ...mark, to: Math.min(mark.to, end) }];
    const shown = marks.map((each) => ({ ...each, severity: 'error' as const }));
    view.dispatch(setDiagnostics(view.state, shown));
  }, [mark]);
  useImperativeHandle(ref, () => handleOf(editor));
  return <div ref={place} className={styles.editor} />;
}

function handleOf(editor: { readonly current: EditorView | null }): EditorHandle {
  return {
    text: () => editor.current?.state.doc.toString() ?? '',
    selection: () => {
      const main = editor.current?.state.selection.main;
      return [main?.from ?? 0, main?.to ?? 0];
    },
    write: (text) => {
      const view = editor.current;
      view?.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      view?.focus();
    },
    focus: () => editor.current?.focus(),
  };
}
