// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

// A thin layer over SQLite: a database file that closes itself, and prepared statements whose errors say
// where they happened. Files of others are read as they lie (immutable): nothing is written beside them, no
// lock is taken, and only plain tables are read, because a view or a virtual table can run without end.
namespace echosim {

enum class SqliteType : std::uint8_t { null, integer, real, text, blob };

class SqliteDatabase {
  public:
    // Opens an existing database. Throws InputError when the file cannot be read, is empty or of another
    // kind, or when a journal beside it says that it was not closed.
    static SqliteDatabase open(const std::string& path);
    // A new database with fixed settings, so that the same statements give the same bytes. Statements are
    // one transaction until close().
    static SqliteDatabase create(const std::string& path);
    SqliteDatabase(SqliteDatabase&& other) noexcept;
    SqliteDatabase& operator=(SqliteDatabase&&) = delete;
    ~SqliteDatabase();

    void execute(const std::string& sql);
    void close(); // commits; a database that is destroyed without it is not usable
    // Names of the plain tables.
    std::vector<std::string> tables();
    // Columns of a plain table in their order, empty when there is no such table.
    std::vector<std::string> columns(std::string_view table);

    const std::string& path() const { return path_; }
    std::uint64_t bytes() const { return bytes_; } // of the file when it was opened; 0: a new one
    sqlite3* handle() const { return handle_; }
    [[noreturn]] void fail(const std::string& where) const;

  private:
    explicit SqliteDatabase(std::string path) : path_(std::move(path)) {}
    std::string path_;
    std::uint64_t bytes_ = 0;
    sqlite3* handle_ = nullptr;
};

// One prepared statement. Columns and parameters count from 0. Views of text and blobs stay valid until the
// next step().
class SqliteStatement {
  public:
    // `where` names what is read or written in errors, "FILE: table T".
    SqliteStatement(const SqliteDatabase& database, std::string_view sql, std::string where);
    ~SqliteStatement();
    SqliteStatement(const SqliteStatement&) = delete;
    SqliteStatement& operator=(const SqliteStatement&) = delete;

    bool step();                                // false: no further row
    std::uint64_t rows() const { return row_; } // stepped so far: the number of the current row, from 1
    SqliteType type(int column) const;
    std::int64_t integer(int column) const;
    double real(int column) const;
    std::string_view text(int column) const;
    std::string_view blob(int column) const;

    // Binds all parameters, runs the statement once and makes it ready again.
    template <class... Values> void run(const Values&... values) {
        int parameter = 0;
        (bind(parameter++, values), ...);
        finish();
    }
    void bind(int parameter, std::int64_t value);
    void bind(int parameter, std::uint64_t value) { bind(parameter, static_cast<std::int64_t>(value)); }
    void bind(int parameter, std::uint32_t value) { bind(parameter, std::int64_t{value}); }
    void bind(int parameter, std::int32_t value) { bind(parameter, std::int64_t{value}); }
    void bind(int parameter, double value);
    void bind(int parameter, std::string_view value);
    void bind(int parameter, std::nullptr_t);
    template <class Value> void bind(int parameter, const std::optional<Value>& value) {
        if (value) {
            bind(parameter, *value);
        } else {
            bind(parameter, nullptr);
        }
    }

    // "FILE: table T, row N"
    std::string where() const;

  private:
    void finish();
    const SqliteDatabase& database_;
    std::string where_;
    std::uint64_t row_ = 0;
    std::uint64_t most_rows_ = 0;
    sqlite3_stmt* statement_ = nullptr;
};

// The quoted name of a table or column in SQL.
std::string sql_name(std::string_view name);

} // namespace echosim
