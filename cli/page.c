/**
 *  The page holds its style and nothing that runs. Pictures are linked by relative paths, so that page and pictures
 *  can be moved, or served, together. Every byte of a name that could mean something in a link is percent-encoded, and
 *  every character of a text that could mean something in HTML is written as a reference.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "paths.h"
#include "plain.h"
#include "progress.h"

static char const signature[] = "<!doctype html>";

static char const head[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<title>Picture search</title>\n"
    "<style>\n"
    ":root { color-scheme: light dark; --ink: #1c1c1e; --faint: #6b6b70; --paper: #f6f6f4; --card: #fff;"
    " --line: #dcdcd8; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --ink: #ececee; --faint: #9a9aa0; --paper: #161618; --card: #222225; --line: #38383c; }\n"
    "}\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0; padding: 1.5rem; background: var(--paper); color: var(--ink);"
    " font: 1rem/1.4 system-ui, sans-serif; }\n"
    "main { max-width: 90rem; margin: 0 auto; }\n"
    "h1 { margin: 0 0 1rem; font-size: 1.3rem; font-weight: 600; overflow-wrap: anywhere; }\n"
    "h1 img { display: block; max-width: 16rem; max-height: 16rem; margin-top: .5rem; border-radius: .4rem; }\n"
    "section + section { margin-top: 2.5rem; }\n"
    "ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 1rem;"
    " grid-template-columns: repeat(auto-fill, minmax(min(14rem, 100%), 1fr)); }\n"
    "li { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; overflow: hidden; }\n"
    "li a { display: block; color: inherit; text-decoration: none; }\n"
    "li a:focus-visible { outline: 3px solid Highlight; outline-offset: -3px; }\n"
    "li img { display: block; width: 100%; aspect-ratio: 4 / 3; object-fit: contain; background: var(--paper);"
    " overflow-wrap: anywhere; }\n"
    "li p { margin: 0; padding: .6rem .8rem .7rem; overflow-wrap: anywhere; font-size: .85rem; color: var(--faint); }\n"
    "li b { display: block; color: var(--ink); font-variant-numeric: tabular-nums; }\n"
    "</style>\n"
    "</head>\n"
    "<body>\n"
    "<main>\n";

static char const tail[] = "</main>\n</body>\n</html>\n";

static void write_words(page_t *page, char const *words) {
    replace_write_(&page->file, words, strlen(words));
}

/// A text in HTML, between tags or in quotes.
static void write_text(page_t *page, char const *text) {
    char *const copy = strdup(text);
    if (!copy) {
        replace_fail_(&page->file, strerror(ENOMEM));
        return;
    }
    make_plain_(copy);
    for (char const *at = copy; *at;) {
        size_t const length = strcspn(at, "&<>\"'");
        replace_write_(&page->file, at, length);
        at += length;
        if (!*at) break;
        char reference[8];
        snprintf(reference, sizeof(reference), "&#%d;", *at++);
        write_words(page, reference);
    }
    free(copy);
}

/// A path as a link holds it.
static void write_escaped(page_t *page, char const *path) {
    static char const unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    for (char const *at = path; *at;) {
        size_t const length = strspn(at, unreserved);
        replace_write_(&page->file, at, length);
        at += length;
        if (!*at) break;
        char escaped[8];
        snprintf(escaped, sizeof(escaped), "%%%02X", (unsigned char)*at++);
        write_words(page, escaped);
    }
}

/// The way from the page's folder to a file, both from the root.
static void write_link(page_t *page, char const *path) {
    char const *const folder = page->folder;
    size_t common = 0, at = 0;
    // The last place where both have whole names in common.
    for (; folder[at] && folder[at] == path[at]; ++at)
        if (path[at] == '/') common = at + 1;
    if (!folder[at] && path[at] == '/') common = at + 1;
    // Every name of the folder's that isn't in common is a step up.
    bool named = false;
    for (char const *left = folder + (common <= strlen(folder) ? common : strlen(folder)); *left; ++left) {
        if (*left != '/' && !named) write_words(page, "../"), named = true;
        if (*left == '/') named = false;
    }
    write_escaped(page, path + common);
}

/// A link to a picture.
static void write_link_to(page_t *page, char const *path) {
    char *const full = path_from_root_(path);
    if (full) write_link(page, full);
    else if (errno == ENOMEM) replace_fail_(&page->file, strerror(ENOMEM));
    // A folder that is gone can't be resolved.
    else write_escaped(page, path);
    free(full);
}

/// A picture, with words for those who don't see it.
static void write_picture(page_t *page, char const *path) {
    write_words(page, "<img loading=\"lazy\" src=\"");
    write_link_to(page, path);
    write_words(page, "\" alt=\"");
    write_text(page, path_name_(path));
    write_words(page, "\">");
}

bool page_open_(page_t *page, char const *path) {
    memset(page, 0, sizeof(*page));
    if (!replace_open_(&page->file, "html", path, signature)) return false;
    page->folder = replace_folder_(&page->file);
    write_words(page, head);
    if (page->folder) return true;
    page_abandon_(page);
    return false;
}

static void end_section(page_t *page) {
    if (page->in_section) write_words(page, "</ol>\n</section>\n");
    page->in_section = false;
}

void page_text_query_(page_t *page, char const *text) {
    end_section(page);
    write_words(page, "<section>\n<h1>");
    write_text(page, text);
    write_words(page, "</h1>\n<ol>\n");
    page->in_section = true;
}

void page_picture_query_(page_t *page, char const *path) {
    end_section(page);
    write_words(page, "<section>\n<h1>");
    write_text(page, path);
    write_words(page, "\n");
    write_picture(page, path);
    write_words(page, "</h1>\n<ol>\n");
    page->in_section = true;
}

void page_match_(page_t *page, size_t rank, float score, char const *path) {
    char words[64];
    write_words(page, "<li><a href=\"");
    write_link_to(page, path);
    write_words(page, "\">");
    write_picture(page, path);
    snprintf(words, sizeof(words), "<p><b>%zu. %.4f</b>", rank, (double)score);
    write_words(page, words);
    write_text(page, path);
    write_words(page, "</p></a></li>\n");
}

bool page_close_(page_t *page) {
    end_section(page);
    write_words(page, tail);
    bool const written = replace_commit_(&page->file);
    page_abandon_(page);
    return written;
}

void page_abandon_(page_t *page) {
    replace_abandon_(&page->file);
    free(page->folder);
    memset(page, 0, sizeof(*page));
}
