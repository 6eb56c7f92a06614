// SPDX-License-Identifier: Apache-2.0
#include "traces/sqlite/database.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <sqlite3.h>
#include <utility>

namespace echosim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr int kMostTextBytes = 256 << 20;   // of one text or blob of a file of others
constexpr std::uint64_t kLeastRowBytes = 2; // a cell has a payload size and a row number, a byte or more each

// A path as the URI that SQLite takes: everything but letters, digits and a few signs as %XX.
std::string uri_of(const std::string& path) {
    std::string uri = "file:";
    for (const char sign : fs::absolute(path).string()) {
        const bool plain = (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') ||
                           (sign >= '0' && sign <= '9') || sign == '/' || sign == '.' || sign == '_' ||
                           sign == '-';
        if (plain) {
            uri += sign;
        } else {
            uri += fmt::format("%{:02X}", static_cast<unsigned char>(sign));
        }
    }
    return uri + "?mode=ro&immutable=1";
}

// Size of the file, after its first bytes were looked at.
std::uint64_t check_file(const std::string& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
        throw InputError(path, fs::exists(path, error) ? "is not a regular file" : "does not exist");
    }
    std::ifstream in(path, std::ios::binary);
    std::array<char, 16> head{};
    in.read(head.data(), head.size());
    if (!in && !in.eof()) {
        throw InputError(path, "cannot be read");
    }
    if (in.gcount() == 0) {
        throw InputError(path + ":0", "is empty");
    }
    if (std::string_view(head.data(), static_cast<std::size_t>(in.gcount())) != kMagic) {
        throw InputError(path + ":0", "is not a SQLite database: it does not begin with 'SQLite format 3'");
    }
    for (const char* ending : {"-wal", "-journal"}) {
        const std::uintmax_t size = fs::file_size(path + ending, error);
        if (!error && size > 0) {
            throw InputError(path,
                             fmt::format("'{}{}' lies beside it: part of the data is not in the file "
                                         "yet",
                                         path, ending),
                             fmt::format("let the program that writes it end, or run: sqlite3 '{}' 'PRAGMA "
                                         "wal_checkpoint(TRUNCATE)'",
                                         path));
        }
    }
    return fs::file_size(path);
}

} // namespace

std::string sql_name(std::string_view name) {
    std::string quoted = "\"";
    for (const char sign : name) {
        quoted += sign;
        if (sign == '"') {
            quoted += sign;
        }
    }
    return quoted + "\"";
}

SqliteDatabase SqliteDatabase::open(const std::string& path) {
    SqliteDatabase database(path);
    database.bytes_ = check_file(path);
    if (sqlite3_open_v2(uri_of(path).c_str(), &database.handle_,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
        database.fail(path);
    }
    sqlite3_limit(database.handle_, SQLITE_LIMIT_LENGTH, kMostTextBytes);
    sqlite3_db_config(database.handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database.handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    database.execute("PRAGMA cell_size_check=ON; PRAGMA cache_size=-16000; PRAGMA mmap_size=0;");
    return database;
}

SqliteDatabase SqliteDatabase::create(const std::string& path) {
    SqliteDatabase database(path);
    if (sqlite3_open_v2(path.c_str(), &database.handle_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        nullptr) != SQLITE_OK) {
        database.fail(path);
    }
    database.execute("PRAGMA page_size=8192; PRAGMA encoding='UTF-8'; PRAGMA auto_vacuum=NONE;"
                     "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
                     "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536; BEGIN;");
    return database;
}

SqliteDatabase::SqliteDatabase(SqliteDatabase&& other) noexcept
    : path_(std::move(other.path_)), bytes_(other.bytes_), handle_(std::exchange(other.handle_, nullptr)) {}

SqliteDatabase::~SqliteDatabase() {
    sqlite3_close_v2(handle_);
}

void SqliteDatabase::fail(const std::string& where) const {
    throw InputError(where, fmt::format("SQLite: {}", sqlite3_errmsg(handle_)));
}

void SqliteDatabase::execute(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        fail(path_);
    }
}

void SqliteDatabase::close() {
    execute("COMMIT;");
    if (sqlite3_close(handle_) != SQLITE_OK) {
        fail(path_);
    }
    handle_ = nullptr;
}

std::vector<std::string> SqliteDatabase::tables() {
    SqliteStatement rows(*this,
                         "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'",
                         path_ + ": table sqlite_master");
    std::vector<std::string> names;
    while (rows.step()) {
        names.emplace_back(rows.text(0));
    }
    return names;
}

std::vector<std::string> SqliteDatabase::columns(std::string_view table) {
    const std::vector<std::string> plain = tables();
    std::vector<std::string> names;
    if (std::find(plain.begin(), plain.end(), table) != plain.end()) {
        SqliteStatement rows(*this, fmt::format("PRAGMA table_info({})", sql_name(table)), path_);
        while (rows.step()) {
            names.emplace_back(rows.text(1));
        }
    }
    return names;
}

SqliteStatement::SqliteStatement(const SqliteDatabase& database, std::string_view sql, std::string where)
    : database_(database), where_(std::move(where)),
      most_rows_(database.bytes() > 0 ? database.bytes() / kLeastRowBytes
                                      : std::numeric_limits<std::uint64_t>::max()) {
    if (sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &statement_,
                           nullptr) != SQLITE_OK) {
        database.fail(where_);
    }
}

SqliteStatement::~SqliteStatement() {
    sqlite3_finalize(statement_);
}

// A damaged file whose pages name each other would give rows without end: more than fit in it are refused.
bool SqliteStatement::step() {
    const int result = sqlite3_step(statement_);
    if (result == SQLITE_ROW) {
        if (++row_ > most_rows_) {
            throw InputError(where(), "has more rows than the file has room for: it is damaged");
        }
        return true;
    }
    if (result != SQLITE_DONE) {
        ++row_;
        database_.fail(where());
    }
    return false;
}

SqliteType SqliteStatement::type(int column) const {
    switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
        return SqliteType::integer;
    case SQLITE_FLOAT:
        return SqliteType::real;
    case SQLITE_TEXT:
        return SqliteType::text;
    case SQLITE_BLOB:
        return SqliteType::blob;
    default:
        return SqliteType::null;
    }
}

std::int64_t SqliteStatement::integer(int column) const {
    return sqlite3_column_int64(statement_, column);
}

double SqliteStatement::real(int column) const {
    return sqlite3_column_double(statement_, column);
}

std::string_view SqliteStatement::text(int column) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return data == nullptr
               ? std::string_view{}
               : std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

std::string_view SqliteStatement::blob(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return data == nullptr
               ? std::string_view{}
               : std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

std::string SqliteStatement::where() const {
    return row_ == 0 ? where_ : fmt::format("{}, row {}", where_, row_);
}

void SqliteStatement::bind(int parameter, std::int64_t value) {
    sqlite3_bind_int64(statement_, parameter + 1, value);
}

void SqliteStatement::bind(int parameter, double value) {
    sqlite3_bind_double(statement_, parameter + 1, value);
}

void SqliteStatement::bind(int parameter, std::string_view value) {
    // A null pointer would be NULL, not an empty text.
    const char* data = value.empty() ? "" : value.data();
    sqlite3_bind_text64(statement_, parameter + 1, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void SqliteStatement::bind(int parameter, std::nullptr_t) {
    sqlite3_bind_null(statement_, parameter + 1);
}

void SqliteStatement::finish() {
    ++row_;
    if (sqlite3_step(statement_) != SQLITE_DONE || sqlite3_reset(statement_) != SQLITE_OK) {
        database_.fail(where());
    }
}

} // namespace echosim
