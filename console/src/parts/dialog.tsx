import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { ServiceError } from '../service/http.ts';
import { Button } from './button.tsx';
import { classes } from './classes.ts';
import styles from './dialog.module.css';
import { Field, Input } from './field.tsx';
import { Refusal } from './state.tsx';

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Buttons, the one that goes on last. */
  readonly foot?: ReactNode;
  readonly form?: 'normal' | 'wide' | 'side';
}

/** A modal dialog: keeps the focus, ends with Escape, and gives the focus back. */
export function Dialog({ title, onClose, children, foot, form = 'normal' }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={classes(styles.dialog, form !== 'normal' && styles[form])}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header className={styles.head}>
        <h2 id={id}>{title}</h2>
        <Button kind="plain" size="small" icon="close" aria-label="Close" onClick={onClose} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
      <section className={styles.body} tabIndex={0} aria-labelledby={id}>
        {children}
      </section>
      {foot !== undefined && <footer className={styles.foot}>{foot}</footer>}
    </dialog>
  );
}

interface DialogFormProps {
  /** What the button does, such as `Create`. */
  readonly action: string;
  /** Why it cannot be pressed. */
  readonly off?: string | false;
  readonly isBusy: boolean;
  readonly error: ServiceError | null;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** What a dialog asks for, sent with Enter or by its button; it ends with the error, if any. */
export function DialogForm({ children, error, onSubmit, onClose, ...sending }: DialogFormProps) {
  const { action, off, isBusy } = sending;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isBusy) onSubmit();
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      {children}
      <Refusal error={error} />
      <div className={styles.formFoot}>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="accent" isSubmit isBusy={isBusy} off={off}>
          {action}
        </Button>
      </div>
    </form>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** What the button does, such as `Delete`. */
  readonly action: string;
  /** What has to be typed first, such as a name. */
  readonly typed?: string;
  readonly children: ReactNode;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, action, typed, children, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const isOff = typed !== undefined && text !== typed && `Type ${typed} first`;
  const confirm = () => {
    setBusy(true);
    onConfirm().finally(() => setBusy(false));
  };
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="danger" off={isOff} isBusy={isBusy} onClick={confirm}>
        {action}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} foot={foot}>
      <div>{children}</div>
      {typed !== undefined && (
        <Field label={`Type ${typed} to confirm`}>
          {(control) => (
            <Input
              {...control}
              isData
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
      )}
    </Dialog>
  );
}
