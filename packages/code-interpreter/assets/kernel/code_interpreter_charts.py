"""Charts as data: what a figure of matplotlib shows, so that a client can draw it anew."""

import datetime
import math

from matplotlib import dates
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer
from matplotlib.patches import PathPatch, Wedge


class TooMany(Exception):
    pass


def chart(figure, most_points):
    """The chart of a figure; several are a superchart. None for a figure that has none, or too many points."""
    try:
        charts = [each for each in (of_axes(axes, most_points) for axes in figure.axes) if each is not None]
    except TooMany:
        return None
    if len(charts) == 1:
        return charts[0]
    if not charts:
        return None
    title = figure._suptitle.get_text() if getattr(figure, "_suptitle", None) else ""
    return {"type": "superchart", "title": title, "elements": charts}


def of_axes(axes, most_points):
    if getattr(axes, "_colorbar", None) is not None or not axes.axison and not wedges(axes):
        return None
    for kind, read in (("pie", pie), ("box_and_whisker", boxes), ("bar", bars), ("scatter", scatter), ("line", lines)):
        elements = read(axes)
        if elements:
            break
    else:
        if not axes.has_data():
            return None
        return {"type": "unknown", "title": axes.get_title(), "elements": []}
    if kind in ("line", "scatter") and sum(len(each["points"]) for each in elements) > most_points:
        raise TooMany
    if len(elements) > most_points:
        raise TooMany
    found = {"type": kind, "title": axes.get_title(), "elements": elements}
    if kind == "pie":
        return found
    found.update(label_and_unit("x", axes.get_xlabel()), **label_and_unit("y", axes.get_ylabel()))
    if kind in ("line", "scatter"):
        found.update(scale("x", axes.xaxis), **scale("y", axes.yaxis))
    return found


def label_and_unit(name, label):
    """`Time (s)` names a unit."""
    unit = None
    if label.endswith(")") and "(" in label:
        unit = label[label.rindex("(") + 1 : -1].strip() or None
    return {f"{name}_label": label, f"{name}_unit": unit}


def scale(name, axis):
    limits = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_majorticklocs() if limits[0] <= tick <= limits[1]]
    kind = axis.get_scale()
    if is_date(axis):
        kind = "datetime"
    elif is_category(axis):
        kind = "categorical"
    texts = [str(text) for text in axis.get_major_formatter().format_ticks(ticks)]
    return {f"{name}_ticks": [value(axis, tick) for tick in ticks], f"{name}_tick_labels": texts, f"{name}_scale": kind}


def is_date(axis):
    return isinstance(axis.get_converter() if hasattr(axis, "get_converter") else axis.converter, DATES)


def is_category(axis):
    return type(axis.get_converter() if hasattr(axis, "get_converter") else axis.converter).__name__ == "StrCategoryConverter"


DATES = tuple(
    each for each in (getattr(dates, name, None) for name in ("_SwitchableDateConverter", "DateConverter")) if each
)


def value(axis, raw):
    """What was drawn at a place of an axis: a number, a date as ISO 8601, or a category."""
    if isinstance(raw, (datetime.date, datetime.datetime)):
        return raw.isoformat()
    if isinstance(raw, str):
        return raw
    try:
        number = float(raw)
    except (TypeError, ValueError):
        return str(raw)
    if is_date(axis):
        return dates.num2date(number).isoformat()
    if is_category(axis):
        names = {at: name for name, at in axis.units._mapping.items()} if axis.units is not None else {}
        if number in names:
            return names[number]
    return plain(number)


def plain(number):
    number = float(number)
    if not math.isfinite(number):
        return None
    number = float(f"{number:.12g}")
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def name_of(artist):
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def points(axes, pairs):
    return [[value(axes.xaxis, x), value(axes.yaxis, y)] for x, y in pairs]


def lines(axes):
    return [
        {"label": name_of(line) or f"Line {number}", "points": points(axes, zip(line.get_xdata(orig=False), line.get_ydata(orig=False)))}
        for number, line in enumerate(axes.get_lines(), 1)
        if line.get_transform().contains_branch(axes.transData) and len(line.get_xdata()) > 0
    ]


def scatter(axes):
    groups = [each for each in axes.collections if isinstance(each, PathCollection) and len(each.get_offsets()) > 0]
    return [
        {"label": name_of(group) or f"Group {number}", "points": points(axes, group.get_offsets().tolist())}
        for number, group in enumerate(groups, 1)
    ]


def bars(axes):
    found = []
    for group in axes.containers:
        if not isinstance(group, BarContainer):
            continue
        upright = group.orientation != "horizontal"
        axis = axes.xaxis if upright else axes.yaxis
        names = {plain(at): text.get_text() for at, text in zip(axis.get_ticklocs(), axis.get_ticklabels())}
        for bar in group.patches:
            middle = bar.get_x() + bar.get_width() / 2 if upright else bar.get_y() + bar.get_height() / 2
            label = names.get(plain(round(middle, 6))) or str(value(axis, round(middle, 6)))
            found.append(
                {
                    "label": label,
                    "group": name_of(group) or (axes.get_ylabel() if upright else axes.get_xlabel()),
                    "value": plain(bar.get_height() if upright else bar.get_width()),
                }
            )
    return found


def wedges(axes):
    return [patch for patch in axes.patches if isinstance(patch, Wedge)]


def pie(axes):
    return [
        {
            "label": name_of(wedge) or f"Wedge {number}",
            "angle": plain(round(wedge.theta2 - wedge.theta1, 6)),
            "radius": plain(wedge.r),
        }
        for number, wedge in enumerate(wedges(axes), 1)
    ]


def boxes(axes):
    """A box is a closed line of five points, or a patch; beside it its whiskers, median, caps and outliers."""
    outlines = [patch.get_path().vertices for patch in axes.patches if isinstance(patch, PathPatch)]
    outlines += [line.get_xydata() for line in axes.get_lines() if len(line.get_xdata()) == 5 and closed(line.get_xydata())]
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) != 5 or not closed(line.get_xydata())]
    if not outlines or not lines:
        return []
    names = {plain(at): text.get_text() for at, text in zip(axes.get_xticks(), axes.get_xticklabels())}
    return [
        box for box in (one_box(outline, lines, names) for outline in outlines) if box is not None
    ]


def closed(points):
    return tuple(points[0]) == tuple(points[-1])


def one_box(outline, lines, names):
    left, right = float(min(outline[:, 0])), float(max(outline[:, 0]))
    low, high = float(min(outline[:, 1])), float(max(outline[:, 1]))
    middle = (left + right) / 2
    median, ends, outliers = None, [low, high], []
    for line in lines:
        xs, ys = [float(x) for x in line.get_xdata()], [float(y) for y in line.get_ydata()]
        if not xs or min(xs) < left - 1e-9 or max(xs) > right + 1e-9:
            continue
        if line.get_marker() not in (None, "", " ", "None") and line.get_linestyle() in ("None", "", " "):
            outliers += ys
        elif len(xs) == 2 and xs[0] == xs[1]:
            ends += ys
        elif len(xs) == 2 and ys[0] == ys[1] and abs(max(xs) - right) < 1e-9 and abs(min(xs) - left) < 1e-9:
            median = ys[0]
    if median is None:
        return None
    label = names.get(plain(round(middle, 6))) or str(plain(round(middle, 6)))
    return {
        "label": label,
        "min": plain(min(ends)),
        "first_quartile": plain(low),
        "median": plain(median),
        "third_quartile": plain(high),
        "max": plain(max(ends)),
        "outliers": [plain(each) for each in outliers],
    }
