import { Fragment, type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react';
import { Button, type ButtonProps } from './button.tsx';
import { classes } from './classes.ts';
import { Icon, type IconName } from './icon.tsx';
import styles from './menu.module.css';

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly note?: string;
  readonly isDanger?: boolean;
  /** Checked or not, for items that switch something. */
  readonly isChecked?: boolean;
  readonly off?: string | false;
  /** A line above it. */
  readonly begins?: boolean;
  readonly run: () => void;
}

interface MenuProps extends Omit<ButtonProps, 'onClick'> {
  readonly items: readonly MenuItem[];
  readonly children?: ReactNode;
}

/** A button with a list of actions below it. Arrows move, Escape closes. */
export function Menu({ items, children, ...button }: MenuProps) {
  const id = useId();
  const trigger = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const open = () => {
    const [menu, from] = [list.current, trigger.current?.getBoundingClientRect()];
    if (menu === null || from === undefined) return;
    menu.showPopover();
    const { offsetWidth: width, offsetHeight: height } = menu;
    const left = Math.max(8, Math.min(from.left, innerWidth - width - 8));
    const isBelow = from.bottom + 4 + height < innerHeight || from.top < height + 8;
    menu.style.left = `${left}px`;
    menu.style.top = `${isBelow ? from.bottom + 4 : from.top - height - 4}px`;
    itemsOf(menu)[0]?.focus();
  };
  return (
    <>
      <Button
        {...button}
        ref={trigger}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => (isOpen ? list.current?.hidePopover() : open())}
      >
        {children}
      </Button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        className={styles.menu}
        onToggle={(event) => setOpen(event.newState === 'open')}
        onKeyDown={(event) => move(event, list.current)}
      >
        {items.map((item) => (
          <Fragment key={item.label}>
            {item.begins === true && <hr className={styles.line} />}
            <Item item={item} close={() => list.current?.hidePopover()} />
          </Fragment>
        ))}
      </div>
    </>
  );
}

function Item({ item, close }: { readonly item: MenuItem; readonly close: () => void }) {
  const isOff = item.off !== undefined && item.off !== false;
  const isSwitch = item.isChecked !== undefined;
  const run = () => {
    if (isOff) return;
    if (!isSwitch) close();
    item.run();
  };
  const icon = isSwitch ? (item.isChecked === true ? 'check' : undefined) : item.icon;
  return (
    <button
      type="button"
      {...(isSwitch
        ? { role: 'menuitemcheckbox', 'aria-checked': item.isChecked }
        : { role: 'menuitem' })}
      aria-disabled={isOff || undefined}
      title={isOff ? String(item.off) : undefined}
      className={classes(styles.item, item.isDanger === true && styles.danger)}
      tabIndex={-1}
      onClick={run}
    >
      {icon === undefined ? (
        <svg width="16" height="16" aria-hidden="true" />
      ) : (
        <Icon name={icon} />
      )}
      <span className={styles.label}>{item.label}</span>
      {item.note !== undefined && <span className={styles.note}>{item.note}</span>}
    </button>
  );
}

function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]')];
}

function move(event: KeyboardEvent, menu: HTMLElement | null): void {
  if (menu === null) return;
  const items = itemsOf(menu);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = nextOf(event.key, at, items.length);
  if (next === undefined) return;
  event.preventDefault();
  items[next]?.focus();
}

function nextOf(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
      return (at + 1) % count;
    case 'ArrowUp':
      return (at - 1 + count) % count;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
